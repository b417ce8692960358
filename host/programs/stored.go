package programs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/documents"
)

// The kinds of documents, by their extension.
const (
	savedExt = ".program"
	keptExt  = ".kept"
)

// Stored is a Store in a directory, or in the database of package host/postgres. It
// survives the process, and several processes may use it at the same time. What it keeps
// is sealed and written whole.
type Stored struct {
	saved, kept documents.Store

	mu     sync.Mutex
	listed string // the version of saved when list was read
	list   []*Program
	swept  time.Time // when expired programs of runs were last looked for
}

var _ Store = (*Stored)(nil)

// OpenDir opens the store in path, creating the directory (mode 0700). The files, of mode
// 0600, are sealed with the key of the run store.
func OpenDir(path string, runs *runstore.Dir) (*Stored, error) {
	saved, err := documents.OpenDir(path, documents.DirOptions{})
	if err != nil {
		return nil, fmt.Errorf("directory of programs: %w", err)
	}
	kept, err := documents.OpenDir(filepath.Join(path, "kept"), documents.DirOptions{Transient: true})
	if err != nil {
		return nil, fmt.Errorf("directory of programs: %w", err)
	}
	seal := runs.Sealer("programs")
	return NewStored(documents.Sealed(saved, seal), documents.Sealed(kept, seal)), nil
}

// NewStored returns the programs that a driver keeps. Their contents are sealed. Documents in
// kept are transient. It is for drivers of this module.
func NewStored(saved, kept documents.Store) *Stored { return &Stored{saved: saved, kept: kept} }

// runPattern keeps ids of runs from naming anything but a document.
var runPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// keptName is the name of a run's document, or "" for what is no id of a run.
func keptName(runID string) string {
	if !runPattern.MatchString(runID) {
		return ""
	}
	return runID + keptExt
}

// Keep implements Store. It does not wait for the disk.
func (s *Stored) Keep(ctx context.Context, k *Kept) error {
	name := keptName(k.RunID)
	if name == "" {
		return notKept(k.RunID)
	}
	if k.Code == "" {
		known, err := s.readKept(ctx, name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, documents.ErrCorrupt) {
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
	if err := s.kept.Replace(ctx, name, b, k.Expires); err != nil {
		return err
	}
	return s.sweep(ctx, time.Now())
}

// sweepEvery is how often a store looks for programs of runs that have expired.
const sweepEvery = time.Minute

// sweep deletes the programs of runs that have expired, and beyond MaxKept those that
// expire first.
func (s *Stored) sweep(ctx context.Context, now time.Time) error {
	if !s.isSweepDue(now) {
		counts, err := s.kept.Counts(ctx)
		if err != nil || counts[keptExt] <= MaxKept {
			return err
		}
	}
	return s.kept.Sweep(ctx, now, MaxKept)
}

// isSweepDue reports whether the last sweep is long ago, and notes this one.
func (s *Stored) isSweepDue(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.swept) < sweepEvery {
		return false
	}
	s.swept = now
	return true
}

func (s *Stored) readKept(ctx context.Context, name string) (*Kept, error) {
	b, err := s.kept.Read(ctx, name)
	return s.decodeKept(documents.Document{Name: name, Content: b, Err: err})
}

func (s *Stored) decodeKept(doc documents.Document) (*Kept, error) {
	if doc.Err != nil {
		return nil, doc.Err
	}
	k := &Kept{}
	if err := json.Unmarshal(doc.Content, k); err != nil || keptName(k.RunID) != doc.Name {
		return nil, fmt.Errorf("%w: %s", documents.ErrCorrupt, s.kept.Location(doc.Name))
	}
	return k, nil
}

// Kept implements Store.
func (s *Stored) Kept(ctx context.Context, runID string) (*Kept, error) {
	name := keptName(runID)
	if name == "" {
		return nil, notKept(runID)
	}
	k, err := s.readKept(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notKept(runID)
	case err != nil:
		return nil, err
	case !time.Now().Before(k.Expires):
		if err := s.kept.Remove(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(notKept(runID), err)
		}
		return nil, notKept(runID)
	}
	return k, nil
}

// AllKept implements Store. What does not verify is left out.
func (s *Stored) AllKept(ctx context.Context) ([]*Kept, error) {
	docs, err := s.kept.All(ctx, keptExt)
	if err != nil {
		return nil, err
	}
	var out []*Kept
	for _, doc := range docs {
		if k, err := s.decodeKept(doc); err == nil {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, newestFirst)
	return staying(out, time.Now()), nil
}

// savedName is the name of a saved program's document.
func savedName(p *Program) string { return p.place() + savedExt }

// Put implements Store.
func (s *Stored) Put(ctx context.Context, p *Program, replace bool) error {
	if err := p.check(); err != nil {
		return err
	}
	list, err := s.List(ctx)
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
	defer s.forgetList()
	if replace {
		ctx, unlock, err := s.saved.Lock(ctx, p.place()) // a move that is carrying it would put back what it has read
		if err != nil {
			return err
		}
		defer unlock()
		return s.replace(ctx, p, b)
	}
	return s.create(ctx, p, b)
}

// create stores a new program as the text b.
func (s *Stored) create(ctx context.Context, p *Program, b []byte) error {
	err := s.saved.Create(ctx, savedName(p), b, time.Time{})
	if errors.Is(err, fs.ErrExist) {
		return exists(p)
	}
	return err
}

// replace stores a program as the text b, under the lock of its place. A model's program takes
// no place that a person has taken by then.
func (s *Stored) replace(ctx context.Context, p *Program, b []byte) error {
	if p.ofModel() == 0 {
		return s.saved.Replace(ctx, savedName(p), b, time.Time{})
	}
	old := documents.Document{Name: savedName(p)}
	old.Content, old.Err = s.saved.Read(ctx, old.Name)
	switch {
	case errors.Is(old.Err, fs.ErrNotExist):
		return s.create(ctx, p, b)
	case old.Err != nil && !errors.Is(old.Err, documents.ErrCorrupt):
		return old.Err
	}
	if was := decodeSaved(old); was != nil && was.ofModel() == 0 {
		return exists(p)
	}
	return s.saved.Replace(ctx, old.Name, b, time.Time{})
}

// Update implements Store.
func (s *Stored) Update(ctx context.Context, old, p *Program) error {
	if err := p.check(); err != nil {
		return err
	}
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	defer s.forgetList()
	ctx, unlock, err := s.saved.Lock(ctx, p.place())
	if err != nil {
		return err
	}
	defer unlock()
	there := documents.Document{Name: savedName(p)}
	there.Content, there.Err = s.saved.Read(ctx, there.Name)
	if there.Err != nil && !errors.Is(there.Err, fs.ErrNotExist) && !errors.Is(there.Err, documents.ErrCorrupt) {
		return there.Err
	}
	if err := decodeSaved(there).is(old); err != nil {
		return err
	}
	return s.saved.Replace(ctx, there.Name, b, time.Time{})
}

// List implements Store. What does not verify is left out. It reads the programs again
// when one of them has changed.
func (s *Stored) List(ctx context.Context) ([]*Program, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version, err := s.saved.Version(ctx)
	if err != nil {
		return nil, err
	}
	if s.list != nil && version != "" && version == s.listed {
		return s.list, nil
	}
	docs, err := s.saved.All(ctx, savedExt)
	if err != nil {
		return nil, err
	}
	list := make([]*Program, 0, len(docs))
	for _, doc := range docs {
		if p := decodeSaved(doc); p != nil {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, byName)
	s.listed, s.list = version, list
	return list, nil
}

// decodeSaved returns a program, or nil for a document that is not one.
func decodeSaved(doc documents.Document) *Program {
	if doc.Err != nil {
		return nil
	}
	p := &Program{}
	if json.Unmarshal(doc.Content, p) != nil || p.check() != nil || savedName(p) != doc.Name {
		return nil
	}
	return p
}

func (s *Stored) forgetList() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
}

// Remove implements Store.
func (s *Stored) Remove(ctx context.Context, p *Program) error {
	defer s.forgetList()
	ctx, unlock, err := s.saved.Lock(ctx, p.place())
	if err != nil {
		return err
	}
	defer unlock()
	err = s.saved.Remove(ctx, savedName(p))
	if errors.Is(err, fs.ErrNotExist) {
		return unknown(p.Name, nil)
	}
	return err
}
