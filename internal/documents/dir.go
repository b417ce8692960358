package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/quoinhq/quoin/internal/durable"
)

// DirOptions say how a directory keeps documents. The zero value is good.
type DirOptions struct {
	// MaxBytes bounds a document. Defaults to DefaultMaxBytes.
	MaxBytes int
	// Private refuses files that other users can use or own, and makes the directory one
	// that they cannot enter.
	Private bool
	// Transient documents may be lost with the machine: they are written without waiting
	// for the disk. Sweep removes them when they expire.
	Transient bool
	// Late makes the directory with its first document.
	Late bool
}

// Dir is a Store in a directory, a file of mode 0600 for each document. It survives the
// process, and several processes may use it.
type Dir struct {
	*FileLocks
	path     string
	options  DirOptions
	times    times
	watchers Watchers // told of what this process changes
}

var _ Store = (*Dir)(nil)

// OpenDir opens the store in path, creating the directory with mode 0700.
func OpenDir(path string, o DirOptions) (*Dir, error) {
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	if !o.Late {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
	}
	if o.Private {
		if err := os.Chmod(path, 0o700); err != nil { // fails if it belongs to someone else
			return nil, err
		}
	}
	return &Dir{FileLocks: NewFileLocks(path), path: path, options: o, times: defaultTimes}, nil
}

// Location implements Store: it is the path of the file.
func (d *Dir) Location(name string) string { return filepath.Join(d.path, name) }

// Create implements Store.
func (d *Dir) Create(ctx context.Context, name string, content []byte, expires time.Time) error {
	return d.write(ctx, name, content, expires, durable.Create)
}

// Replace implements Store.
func (d *Dir) Replace(ctx context.Context, name string, content []byte, expires time.Time) error {
	return d.write(ctx, name, content, expires, durable.Replace)
}

// write writes a file. The file's modification time is when it expires.
func (d *Dir) write(ctx context.Context, name string, content []byte, expires time.Time, write func(string, []byte, durable.Options) error) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if len(content) > d.options.MaxBytes {
		return TooLarge(d.Location(name), len(content), d.options.MaxBytes)
	}
	if err := d.Check(ctx); err != nil {
		return err
	}
	if d.options.Late {
		if err := os.MkdirAll(d.path, 0o700); err != nil {
			return err
		}
	}
	err := write(d.Location(name), content, durable.Options{Lazy: d.options.Transient, ModTime: expires})
	if err == nil {
		d.watchers.Tell(filepath.Ext(name))
	}
	return err
}

// Read implements Store.
func (d *Dir) Read(_ context.Context, name string) ([]byte, error) {
	if CheckName(name) != nil {
		return nil, fmt.Errorf("%.80q: %w", name, fs.ErrNotExist)
	}
	read := durable.ReadFile
	if d.options.Private {
		read = durable.ReadPrivate
	}
	b, err := read(d.Location(name), int64(d.options.MaxBytes))
	if errors.Is(err, durable.ErrNotRegular) || errors.Is(err, durable.ErrTooLarge) {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return b, err
}

// All implements Store.
func (d *Dir) All(ctx context.Context, ext string) ([]Document, error) {
	entries, err := d.entries()
	if err != nil {
		return nil, err
	}
	var out []Document
	var tally Tally
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ext {
			continue
		}
		b, err := d.Read(ctx, e.Name())
		if errors.Is(err, fs.ErrNotExist) { // it has been removed
			continue
		}
		doc := Document{Name: e.Name(), Content: b, Err: err}
		if info, err := e.Info(); err == nil {
			doc.Expires = info.ModTime()
		}
		out = append(out, doc)
		if err := tally.Add(d.Location("*"+ext), out[len(out)-1], d.options.MaxBytes); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// entries lists the directory.
func (d *Dir) entries() ([]os.DirEntry, error) {
	entries, err := os.ReadDir(d.path)
	if d.options.Late && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// Names implements Store. A document that does not expire, and one of an earlier version,
// has the modification time at which it was written.
func (d *Dir) Names(_ context.Context, ext string, due time.Time) ([]string, error) {
	entries, err := d.entries()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ext {
			continue
		}
		if !due.IsZero() {
			info, err := e.Info()
			if err != nil || info.ModTime().After(due) { // it has been removed, or is not due
				continue
			}
		}
		out = append(out, e.Name())
	}
	return out, nil
}

// Counts implements Store.
func (d *Dir) Counts(context.Context) (map[string]int, error) {
	entries, err := d.entries()
	counts := map[string]int{}
	for _, e := range entries {
		counts[filepath.Ext(e.Name())]++
	}
	return counts, err
}

// Remove implements Store.
func (d *Dir) Remove(ctx context.Context, names ...string) error {
	if err := d.Check(ctx); err != nil {
		return err
	}
	removed := 0
	for _, name := range names {
		if CheckName(name) != nil {
			continue
		}
		err := os.Remove(d.Location(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		d.watchers.Tell(filepath.Ext(name))
		removed++
	}
	switch {
	case removed == 0:
		return fmt.Errorf("%.80q: %w", names, fs.ErrNotExist)
	case d.options.Transient:
		return nil
	}
	return durable.SyncDir(d.path)
}

// Sweep implements Store.
func (d *Dir) Sweep(_ context.Context, now time.Time, keep int) error {
	entries, err := d.entries()
	if err != nil {
		return err
	}
	var expiring []fs.FileInfo
	var errs []error
	for _, e := range entries {
		info, err := e.Info()
		switch ext := filepath.Ext(e.Name()); {
		case err != nil: // it has been removed
		case ext == durable.TempExt && now.Sub(info.ModTime()) > time.Hour:
			errs = append(errs, d.discard(e.Name()))
		case d.options.Transient && ext != durable.TempExt && info.Mode().IsRegular():
			expiring = append(expiring, info)
		}
	}
	slices.SortFunc(expiring, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for i, f := range expiring {
		if keep > 0 && i >= keep || !now.Before(f.ModTime()) {
			errs = append(errs, d.discard(f.Name()))
		}
	}
	return errors.Join(errs...)
}

// discard removes a file that others may remove too.
func (d *Dir) discard(name string) error {
	if err := os.Remove(d.Location(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Stamp implements Store.
func (d *Dir) Stamp(_ context.Context, name string) (string, error) {
	info, err := os.Stat(d.Location(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size()), nil
}

// settled is how long ago a directory must have changed for its time to tell changes apart.
const settled = 2 * time.Second

// Version implements Store.
func (d *Dir) Version(context.Context) (string, error) {
	info, err := os.Stat(d.path)
	if err != nil {
		return "", err
	}
	// A change soon after a reading may leave the directory's time as it was.
	if changed := info.ModTime(); time.Since(changed) > settled {
		return changed.String(), nil
	}
	return "", nil
}
