package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// Storage is what the host keeps for a plugin: values by key. It outlives the
// process, its version and the host; every process of the plugin sees the same
// values, also while a new process takes over from an old one. Other plugins and
// programs do not see them. The operator of the host does: do not store secrets.
//
// A key is text of 1 to 512 bytes, a value up to 1 MiB. A plugin has at most 10,000
// keys and 16 MiB in total. Whatever is beyond fails with [ErrStorageFull]. It is
// meant for what a plugin must not forget, such as a cursor or a cache of names; a
// database belongs into [Config.DataDir].
//
// Every method may be called concurrently, in OnConfigure, in calls and hooks and in
// OnDrain; when OnClose runs, the host may have gone. An error is an [*Error], unless
// ctx has ended.
type Storage struct{ host *hostSide }

// Get returns the value of a key, and false if it has no value.
func (s *Storage) Get(ctx context.Context, key string) ([]byte, bool, error) {
	e, err := s.entry(ctx, key)
	return e.Value, e.Revision != 0, err
}

func (s *Storage) entry(ctx context.Context, key string) (protocol.StorageEntry, error) {
	l, err := s.host.link(ctx)
	if err != nil {
		return protocol.StorageEntry{}, err
	}
	e, err := l.Get(ctx, key)
	return e, storageError(err)
}

// Set gives a key a value. It is safe on disk when Set returns.
func (s *Storage) Set(ctx context.Context, key string, value []byte) error {
	l, err := s.host.link(ctx)
	if err != nil {
		return err
	}
	_, err = l.Set(ctx, key, value, nil)
	return storageError(err)
}

// Delete removes a key, if it is there.
func (s *Storage) Delete(ctx context.Context, key string) error {
	l, err := s.host.link(ctx)
	if err != nil {
		return err
	}
	return storageError(l.Delete(ctx, key, nil))
}

// List returns the keys that start with prefix, in order of their bytes.
func (s *Storage) List(ctx context.Context, prefix string) ([]string, error) {
	l, err := s.host.link(ctx)
	if err != nil {
		return nil, err
	}
	var all []string
	for after, more := "", true; more; after = all[len(all)-1] {
		var page []string
		page, more, err = l.List(ctx, prefix, after, 0)
		if err != nil {
			return nil, storageError(err)
		}
		if all = append(all, page...); len(page) == 0 {
			break
		}
	}
	return all, nil
}

// Update replaces the value of a key by what f makes of it, as one step: nothing
// that others store in the meantime is lost. f gets nil if there is no value, and
// returns nil to remove it. f may be called again if another call or process was
// faster. Its error ends the update and is returned as it is.
func (s *Storage) Update(ctx context.Context, key string, f func(old []byte) ([]byte, error)) error {
	for {
		e, err := s.entry(ctx, key)
		if err != nil {
			return err
		}
		value, err := f(e.Value)
		if err != nil {
			return err
		}
		err = s.replace(ctx, key, value, e.Revision)
		if !errors.Is(err, &Error{Code: protocol.CodeStorageConflict}) {
			return err
		}
	}
}

// replace changes a key that has the revision given.
func (s *Storage) replace(ctx context.Context, key string, value []byte, revision uint64) error {
	l, err := s.host.link(ctx)
	if err != nil {
		return err
	}
	if value == nil {
		return storageError(l.Delete(ctx, key, &revision))
	}
	_, err = l.Set(ctx, key, value, &revision)
	return storageError(err)
}

// GetJSON decodes the value of a key into v. If the key has no value, it returns
// false and leaves v as it is.
func (s *Storage) GetJSON(ctx context.Context, key string, v any) (bool, error) {
	b, found, err := s.Get(ctx, key)
	if err != nil || !found {
		return false, err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return false, fmt.Errorf("storage key %q: %w", key, err)
	}
	return true, nil
}

// SetJSON stores v as JSON.
func (s *Storage) SetJSON(ctx context.Context, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("storage key %q: %w", key, err)
	}
	return s.Set(ctx, key, b)
}

// storageError returns an error of the host as plugins see it: the end of the
// context is the context's own error.
func storageError(err error) error {
	var e *protocol.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Kind == protocol.KindTimeout:
		return context.DeadlineExceeded
	case e.Kind == protocol.KindCancelled:
		return context.Canceled
	}
	return &Error{Code: e.Code, Message: e.Message, Retryable: e.Retryable}
}
