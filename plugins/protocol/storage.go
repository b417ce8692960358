package protocol

import (
	"context"
	"unicode/utf8"
)

// Limits of a plugin's storage. Lengths are bytes.
const (
	MaxStorageKey   = 512      // a key has at least one
	MaxStorageValue = 1 << 20  // one value
	MaxStorageKeys  = 10_000   // of one plugin
	MaxStorageBytes = 16 << 20 // keys and values of one plugin together
	// MaxStorageList is how many keys one List returns at the most.
	MaxStorageList = 1000
)

// Storage is a plugin's key-value storage: what a host keeps for it. Keys are text
// in UTF-8. All methods may be called at the same time; each takes effect as a
// whole, in some order. Errors are *[Error] with one of the codes storage_*.
type Storage interface {
	// Get returns the entry of a key. Its Revision is 0 if the key has no entry.
	Get(ctx context.Context, key string) (StorageEntry, error)
	// Set gives a key a value, which is durable when Set returns, and returns the
	// new revision. Unless expect is nil the entry must have that revision, 0 if the
	// key has no entry; else the error is CodeStorageConflict.
	Set(ctx context.Context, key string, value []byte, expect *uint64) (uint64, error)
	// Delete removes a key if it is there. expect is as in Set.
	Delete(ctx context.Context, key string, expect *uint64) error
	// List returns the keys with a prefix beyond after, in order of their bytes: as
	// many as limit and MaxStorageList allow. more says that there are others.
	List(ctx context.Context, prefix, after string, limit int) (keys []string, more bool, err error)
}

// StorageEntry is the value of a key.
type StorageEntry struct {
	Value []byte
	// Revision is another one after every change of the key; never 0.
	Revision uint64
}

// CheckStorageKey refuses what cannot be a key.
func CheckStorageKey(key string) error {
	switch {
	case key == "":
		return NewError(KindInput, CodeStorageInvalid, "a storage key must not be empty")
	case len(key) > MaxStorageKey:
		return NewError(KindInput, CodeStorageInvalid, "a storage key has %d bytes; the limit is %d", len(key), MaxStorageKey)
	case !utf8.ValidString(key):
		return NewError(KindInput, CodeStorageInvalid, "the storage key %.80q is not text in UTF-8", key)
	}
	return nil
}

// CheckStorageEntry refuses what cannot be stored.
func CheckStorageEntry(key string, value []byte) error {
	if len(value) > MaxStorageValue {
		return NewError(KindInput, CodeStorageInvalid, "the value of storage key %.80q has %d bytes; the limit is %d", key, len(value), MaxStorageValue)
	}
	return CheckStorageKey(key)
}
