package programs

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Memory is a Store that ends with its process. The zero value is ready.
type Memory struct {
	mu    sync.Mutex
	kept  []*Kept // newest first
	saved map[string]*Program
}

var _ Store = (*Memory)(nil)

// Keep implements Store.
func (m *Memory) Keep(_ context.Context, k *Kept) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var known *Kept
	m.kept = slices.DeleteFunc(m.kept, func(other *Kept) bool {
		if other.RunID == k.RunID {
			known = other
		}
		return other.RunID == k.RunID
	})
	k = k.merged(known)
	if k.Code == "" || len(k.Code) > MaxCode {
		return nil
	}
	m.kept = staying(slices.Insert(m.kept, 0, k), time.Now())
	return nil
}

// Kept implements Store.
func (m *Memory) Kept(_ context.Context, runID string) (*Kept, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.kept {
		if k.RunID == runID && time.Now().Before(k.Expires) {
			return k, nil
		}
	}
	return nil, notKept(runID)
}

func notKept(runID string) error {
	return errorf(NotFound, "The program of the run %.80q is not kept: the run is unknown, or it ended too long ago. Run the program again and save that run.", runID)
}

// AllKept implements Store.
func (m *Memory) AllKept(context.Context) ([]*Kept, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return staying(m.kept, time.Now()), nil
}

// Put implements Store.
func (m *Memory) Put(_ context.Context, p *Program, replace bool) error {
	if err := p.check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	was, taken := m.saved[p.place()]
	switch {
	case taken && (!replace || p.ofModel() > was.ofModel()):
		return exists(p)
	case !taken && len(m.saved) >= MaxPrograms:
		return full()
	}
	if m.saved == nil {
		m.saved = map[string]*Program{}
	}
	saved := *p
	m.saved[p.place()] = &saved
	return nil
}

// Update implements Store.
func (m *Memory) Update(_ context.Context, old, p *Program) error {
	if err := p.check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.saved[p.place()].is(old); err != nil {
		return err
	}
	saved := *p
	m.saved[p.place()] = &saved
	return nil
}

func exists(p *Program) error {
	return errorf(Exists, "There is a program %s for the audience %s already: replace it, remove it, or choose another name.", p.Name, p.For)
}

func full() error {
	return errorf(Full, "There are %d saved programs, which is all there can be: remove some.", MaxPrograms)
}

// List implements Store.
func (m *Memory) List(context.Context) ([]*Program, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*Program, 0, len(m.saved))
	for _, p := range m.saved {
		out = append(out, p)
	}
	slices.SortFunc(out, byName)
	return out, nil
}

// Remove implements Store.
func (m *Memory) Remove(_ context.Context, p *Program) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.saved[p.place()]; !there {
		return unknown(p.Name, nil)
	}
	delete(m.saved, p.place())
	return nil
}
