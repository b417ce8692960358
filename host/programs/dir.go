package programs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// The extensions of a store's files.
const (
	savedExt = ".program"
	keptExt  = ".kept"
)

// Dir is a Store in a directory. It survives the process, and several processes may use
// it at the same time. Files have mode 0600, are sealed and written whole.
type Dir struct {
	path   string
	sealer *runstore.Sealer

	mu     sync.Mutex
	listed time.Time // the directory's time of change when list was read
	list   []*Program
	swept  time.Time // when expired programs of runs were last looked for
}

var _ Store = (*Dir)(nil)

// OpenDir opens the store in path, creating the directory (mode 0700). The files are
// sealed with the key of the run store.
func OpenDir(path string, runs *runstore.Dir) (*Dir, error) {
	if err := os.MkdirAll(filepath.Join(path, "kept"), 0o700); err != nil {
		return nil, fmt.Errorf("directory of programs: %w", err)
	}
	return &Dir{path: path, sealer: runs.Sealer("programs")}, nil
}

// runPattern keeps ids of runs from naming anything outside the directory.
var runPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

func (d *Dir) keptFile(runID string) string {
	if !runPattern.MatchString(runID) {
		return ""
	}
	return filepath.Join(d.path, "kept", runID+keptExt)
}

// Keep implements Store. It does not wait for the disk.
func (d *Dir) Keep(_ context.Context, k *Kept) error {
	name := d.keptFile(k.RunID)
	if name == "" {
		return notKept(k.RunID)
	}
	if k.Code == "" {
		known, err := d.readKept(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, runstore.ErrCorrupt) {
			return nil // nothing is known of its program
		}
		if err != nil {
			return err
		}
		k = k.merged(known)
	}
	if k.Code == "" || len(k.Code) > MaxCode {
		return nil
	}
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if err := d.sealer.ReplaceLazily(name, b, k.Expires); err != nil {
		return err
	}
	return d.sweep(time.Now())
}

// sweepEvery is how often a store looks for programs of runs that have expired.
const sweepEvery = time.Minute

// sweep deletes the programs of runs that have expired, and beyond MaxKept those that
// expire first.
func (d *Dir) sweep(now time.Time) error {
	entries, err := os.ReadDir(filepath.Join(d.path, "kept"))
	if err != nil || len(entries) <= MaxKept && !d.isSweepDue(now) {
		return err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		// A file that another process is writing has no time of its own yet.
		if err == nil && (filepath.Ext(e.Name()) == keptExt || now.Sub(info.ModTime()) > time.Hour) {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var errs []error
	for i, f := range files {
		if i >= MaxKept || !now.Before(f.ModTime()) {
			errs = append(errs, remove(filepath.Join(d.path, "kept", f.Name())))
		}
	}
	return errors.Join(errs...)
}

// isSweepDue reports whether the last sweep is long ago, and notes this one.
func (d *Dir) isSweepDue(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.swept) < sweepEvery {
		return false
	}
	d.swept = now
	return true
}

// remove deletes a file that may be gone.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d *Dir) readKept(name string) (*Kept, error) {
	b, err := d.sealer.Read(name)
	if err != nil {
		return nil, err
	}
	k := &Kept{}
	if err := json.Unmarshal(b, k); err != nil || d.keptFile(k.RunID) != name {
		return nil, fmt.Errorf("%w: %s", runstore.ErrCorrupt, filepath.Base(name))
	}
	return k, nil
}

// Kept implements Store.
func (d *Dir) Kept(_ context.Context, runID string) (*Kept, error) {
	name := d.keptFile(runID)
	if name == "" {
		return nil, notKept(runID)
	}
	k, err := d.readKept(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notKept(runID)
	case err != nil:
		return nil, err
	case !time.Now().Before(k.Expires):
		return nil, errors.Join(notKept(runID), remove(name))
	}
	return k, nil
}

// AllKept implements Store. What does not verify is left out.
func (d *Dir) AllKept(context.Context) ([]*Kept, error) {
	ids, err := runstore.Names(filepath.Join(d.path, "kept"), keptExt)
	if err != nil {
		return nil, err
	}
	var out []*Kept
	for _, id := range ids {
		if name := d.keptFile(id); name != "" {
			if k, err := d.readKept(name); err == nil {
				out = append(out, k)
			}
		}
	}
	slices.SortFunc(out, newestFirst)
	return staying(out, time.Now()), nil
}

func (d *Dir) savedFile(p *Program) string { return filepath.Join(d.path, p.place()+savedExt) }

// Put implements Store.
func (d *Dir) Put(ctx context.Context, p *Program, replace bool) error {
	if err := p.check(); err != nil {
		return err
	}
	list, err := d.List(ctx)
	if err != nil {
		return err
	}
	taken := slices.ContainsFunc(list, func(other *Program) bool { return other.place() == p.place() })
	if !taken && len(list) >= MaxPrograms {
		return full()
	}
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	defer d.forgetList()
	if replace {
		return d.sealer.Replace(d.savedFile(p), b)
	}
	if err := d.sealer.Create(d.savedFile(p), b); errors.Is(err, fs.ErrExist) {
		return exists(p)
	} else if err != nil {
		return err
	}
	return nil
}

// List implements Store. What does not verify is left out. It reads the files again when
// the directory has changed.
func (d *Dir) List(context.Context) ([]*Program, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := os.Stat(d.path)
	if err != nil {
		return nil, err
	}
	// A change soon after a reading may leave the directory's time as it was.
	if changed := info.ModTime(); d.list != nil && changed.Equal(d.listed) && time.Since(changed) > settled {
		return d.list, nil
	}
	names, err := runstore.Names(d.path, savedExt)
	if err != nil {
		return nil, err
	}
	list := make([]*Program, 0, len(names))
	for _, name := range names {
		if p := d.readSaved(filepath.Join(d.path, name+savedExt)); p != nil {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, byName)
	d.listed, d.list = info.ModTime(), list
	return list, nil
}

// settled is how long ago a directory must have changed for its time to tell changes apart.
const settled = 2 * time.Second

// readSaved returns a program, or nil for a file that is not one.
func (d *Dir) readSaved(name string) *Program {
	b, err := d.sealer.Read(name)
	if err != nil {
		return nil
	}
	p := &Program{}
	if json.Unmarshal(b, p) != nil || p.check() != nil || d.savedFile(p) != name {
		return nil
	}
	return p
}

func (d *Dir) forgetList() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = nil
}

// Remove implements Store.
func (d *Dir) Remove(_ context.Context, p *Program) error {
	defer d.forgetList()
	err := os.Remove(d.savedFile(p))
	if errors.Is(err, fs.ErrNotExist) {
		return unknown(p.Name, nil)
	}
	return err
}
