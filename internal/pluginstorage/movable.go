package pluginstorage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// Movable is a storage that can be carried as a whole. The plugin may use it at the same time.
type Movable interface {
	protocol.Storage
	// Contents returns everything that is stored.
	Contents(ctx context.Context) (Contents, error)
	// Swap puts next in the place of everything. If the storage does not hold what
	// old does, the error is ErrChanged and nothing happens.
	Swap(ctx context.Context, old, next Contents) error
}

// ErrChanged means that a plugin has written to a storage in the meantime.
var ErrChanged = errors.New("the plugin has written to its storage meanwhile")

// Contents is everything that a storage holds. The zero value is an empty storage.
type Contents struct {
	entries map[string]protocol.StorageEntry
}

// Len returns the number of keys.
func (c Contents) Len() int { return len(c.entries) }

// Equal reports whether two storages hold the same keys, values and revisions.
func (c Contents) Equal(other Contents) bool {
	return maps.EqualFunc(c.entries, other.entries, func(a, b protocol.StorageEntry) bool {
		return a.Revision == b.Revision && bytes.Equal(a.Value, b.Value)
	})
}

// contents is what a table holds.
func (t *table) contents() Contents { return Contents{maps.Clone(t.entries)} }

// swapped is the table that holds next. No revision is used again.
func (t *table) swapped(old, next Contents) (table, error) {
	if !t.contents().Equal(old) {
		return table{}, ErrChanged
	}
	out := table{revision: t.revision}
	for key, e := range next.entries {
		out.apply(change{key: key, value: e.Value, revision: e.Revision})
	}
	return out, nil
}

// Contents implements Movable.
func (s *Shared) Contents(ctx context.Context) (Contents, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.catchUp(ctx); err != nil {
		return Contents{}, fmt.Errorf("storage %s: %w", s.name, err)
	}
	return s.t.contents(), nil
}

// Swap implements Movable.
func (s *Shared) Swap(ctx context.Context, old, next Contents) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for overtaken := false; ; overtaken = true {
		if err := s.catchUpOn(ctx, overtaken); err != nil {
			return fmt.Errorf("storage %s: %w", s.name, err)
		}
		t, err := s.t.swapped(old, next)
		if err != nil {
			return err
		}
		err = s.log.Replace(ctx, s.read, t.rewritten())
		if errors.Is(err, fs.ErrExist) {
			continue // another host was first
		}
		s.t, s.read, s.size = table{}, 0, 0 // it is read again
		return err
	}
}

// Contents implements Movable.
func (f *File) Contents(ctx context.Context) (c Contents, err error) {
	err = f.view(ctx, func() { c = f.t.contents() })
	return c, err
}

// Entries returns everything that is stored as entries of a Log.
func (f *File) Entries(ctx context.Context) (entries [][]byte, err error) {
	err = f.view(ctx, func() { entries = f.t.rewritten() })
	return entries, err
}

// Swap implements Movable.
func (f *File) Swap(ctx context.Context, old, next Contents) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return f.failed(err)
	}
	var changed error
	err := f.locked(ctx, false, func() error {
		if err := f.prepare(); err != nil {
			return err
		}
		t, err := f.t.swapped(old, next)
		if err != nil {
			changed = err
			return nil
		}
		f.t = t
		return f.rewrite()
	})
	return errors.Join(err, changed)
}
