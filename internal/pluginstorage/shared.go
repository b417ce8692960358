package pluginstorage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// Log keeps the entries of one storage for several hosts, in order, and knows nothing of
// what is in them. Numbers count the entries from 1 and are never used twice, unless the
// log has lost its newest entries.
type Log interface {
	// Read calls add with each entry with a number beyond after, in order. If the log has
	// lost what it had up to after, or what it has added, the error is ErrLost.
	Read(ctx context.Context, after uint64, add func(number uint64, entry []byte) error) error
	// Append adds the entry after+1. If there is a newer one than after, the error is
	// fs.ErrExist and nothing changes.
	Append(ctx context.Context, after uint64, entry []byte) error
	// Replace puts entries, from the number after+1 on, in the place of all up to after. It
	// fails as Append does.
	Replace(ctx context.Context, after uint64, entries [][]byte) error
}

// ErrLost means that a Log does not have entries any more that this host has read or
// appended, as after the failover to a standby that had not yet received them.
var ErrLost = errors.New("the newest entries are lost")

// errMissing means that a Log has no entry with the number of its newest.
var errMissing = errors.New("damaged: entries are missing")

// MaxEntry bounds an entry of a Log, in bytes: a record, or as many as a rewrite puts in one.
const MaxEntry = headerBytes + protocol.MaxStorageKey + protocol.MaxStorageValue

// Shared is a storage that several hosts keep in a Log. Each change is appended to it before
// it counts; of two hosts that change at the same time, the second first reads what the
// other has appended. It is good until its host ends.
type Shared struct {
	name string
	log  Log
	fail func(error)

	mu   sync.Mutex
	t    table
	read uint64 // the newest entry that is in t
	size int    // bytes of the entries that are there
}

var _ protocol.Storage = (*Shared)(nil)

// NewShared returns the storage in a log. It calls fail as Open does, with that name.
func NewShared(name string, log Log, fail func(error)) *Shared {
	return &Shared{name: name, log: log, fail: fail}
}

// Get implements protocol.Storage.
func (s *Shared) Get(ctx context.Context, key string) (e protocol.StorageEntry, err error) {
	if err := protocol.CheckStorageKey(key); err != nil {
		return e, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.failed(ctx, s.catchUp(ctx))
	if err == nil {
		e = s.t.entries[key]
	}
	return e, err
}

// List implements protocol.Storage.
func (s *Shared) List(ctx context.Context, prefix, after string, limit int) (keys []string, more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failed(ctx, s.catchUp(ctx)); err != nil {
		return nil, false, err
	}
	keys, more = s.t.list(prefix, after, limit)
	return keys, more, nil
}

// Set implements protocol.Storage.
func (s *Shared) Set(ctx context.Context, key string, value []byte, expect *uint64) (uint64, error) {
	return s.change(ctx, key, owned(value), expect)
}

// Delete implements protocol.Storage.
func (s *Shared) Delete(ctx context.Context, key string, expect *uint64) error {
	_, err := s.change(ctx, key, nil, expect)
	return err
}

// Entries returns everything that is stored as entries of a Log.
func (s *Shared) Entries(ctx context.Context) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.catchUp(ctx); err != nil {
		return nil, fmt.Errorf("storage %s: %w", s.name, err)
	}
	return s.t.rewritten(), nil
}

// change makes one change durable. A change that fails may count all the same: the log may
// have it, and the answer was lost.
func (s *Shared) change(ctx context.Context, key string, value []byte, expect *uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for overtaken := false; ; overtaken = true {
		if err := s.catchUpOn(ctx, overtaken); err != nil {
			return 0, s.failed(ctx, err)
		}
		c, err := s.t.plan(key, value, expect)
		if err != nil || value == nil && s.t.counted(key) == 0 {
			return 0, err
		}
		kind := byte(kindSet)
		if value == nil {
			kind = kindDelete
		}
		entry := appendRecord(nil, kind, c)
		err = s.log.Append(ctx, s.read, entry)
		if errors.Is(err, fs.ErrExist) {
			continue // another host was first
		}
		if err != nil {
			return 0, s.failed(ctx, err)
		}
		s.t.apply(c)
		s.read++
		s.size += len(entry)
		s.compact(ctx)
		return c.revision, nil
	}
}

// catchUp applies the entries that were appended since the last time. A log that has lost
// entries is read again from its start: what it has counts, for all hosts.
func (s *Shared) catchUp(ctx context.Context) error { return s.catchUpOn(ctx, false) }

// catchUpOn is catchUp, after another host was first if overtaken is set: then there must be
// something that this host has not seen.
func (s *Shared) catchUpOn(ctx context.Context, overtaken bool) error {
	before := s.read
	err := s.readOn(ctx)
	if errors.Is(err, ErrLost) {
		return s.readOn(ctx)
	}
	if err == nil && overtaken && s.read == before {
		return errMissing
	}
	return err
}

// readOn applies the entries after the newest that is in the table, or empties the table.
func (s *Shared) readOn(ctx context.Context) error {
	err := s.log.Read(ctx, s.read, func(number uint64, entry []byte) error {
		if err := s.apply(number, entry); err != nil {
			return fmt.Errorf("damaged at entry %d: %v", number, err) // not one of the plugin's errors
		}
		return nil
	})
	if err != nil { // what was applied in part is read again
		s.t, s.read, s.size = table{}, 0, 0
	}
	return err
}

// apply applies the records of one entry. An entry that starts with the base of a rewrite
// takes the place of all before it.
func (s *Shared) apply(number uint64, entry []byte) error {
	r := bufio.NewReader(bytes.NewReader(entry))
	for left, first := int64(len(entry)), true; ; first = false {
		c, n, err := readRecord(r, left)
		if errors.Is(err, io.EOF) && !first {
			break
		}
		if err != nil {
			return err
		}
		left -= n
		switch base := c.key == ""; {
		case base && !first:
			return errors.New("a rewrite starts within it")
		case base:
			s.t, s.size = table{revision: c.revision}, 0
		case first && number != s.read+1:
			return fmt.Errorf("what comes before it is not there: the newest is %d", s.read)
		default:
			s.t.apply(c)
		}
		if len(s.t.entries) > protocol.MaxStorageKeys || s.t.bytes > protocol.MaxStorageBytes {
			return fmt.Errorf("it makes %d keys and %d bytes, more than any may have", len(s.t.entries), s.t.bytes)
		}
	}
	s.read = number
	if s.size += len(entry); s.size > maxFileBytes {
		return fmt.Errorf("there are more than %d bytes; no storage needs more", maxFileBytes)
	}
	return nil
}

// compact rewrites the log when most of it is superseded. That it fails, or that another
// host has appended in the meantime, costs room and nothing else.
func (s *Shared) compact(ctx context.Context) {
	live := s.t.bytes + headerBytes*len(s.t.entries)
	if s.size-live <= max(1<<20, live) {
		return
	}
	entries := s.t.rewritten()
	if s.log.Replace(ctx, s.read, entries) != nil {
		return
	}
	s.read += uint64(len(entries))
	s.size = 0
	for _, e := range entries {
		s.size += len(e)
	}
}

// rewritten is the content of a table in entries without superseded records. The first
// starts with a base.
func (t *table) rewritten() (entries [][]byte) {
	b := appendRecord(nil, kindBase, change{revision: t.revision})
	keys, _ := t.list("", "", 0)
	for after := ""; len(keys) > 0; keys, _ = t.list("", after, 0) {
		for _, key := range keys {
			e := t.entries[key]
			if len(b)+headerBytes+size(key, e.Value) > MaxEntry {
				entries, b = append(entries, b), nil
			}
			b = appendRecord(b, kindSet, change{key: key, value: e.Value, revision: e.Revision})
			after = key
		}
	}
	return append(entries, b)
}

// failed returns err for the plugin, and tells the host what the plugin must not know.
func (s *Shared) failed(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return protocol.NewError(protocol.KindCancelled, protocol.CodeCancelled, "the request was cancelled")
	}
	return hidden(err, "storage "+s.name, s.fail)
}
