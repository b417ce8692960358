package runstore

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a Store that lives and dies with its process. The zero value is
// ready for use.
type Memory struct {
	mu      sync.Mutex
	records map[string]*Record
	ended   []*Ended // the oldest first
	claims  map[string]bool
	effects map[string]*Effects // by run
}

var (
	_ Store       = (*Memory)(nil)
	_ Volatile    = (*Memory)(nil)
	_ EffectStore = (*Memory)(nil)
)

// Put implements Store.
func (m *Memory) Put(_ context.Context, r *Record, max int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = make(map[string]*Record)
	}
	if _, known := m.records[r.ID]; !known && max > 0 && len(m.records) >= max && m.live(time.Now()) >= max {
		return ErrFull
	}
	m.records[r.ID] = clone(r)
	return nil
}

// Checkpoint implements Store.
func (m *Memory) Checkpoint(ctx context.Context, r *Record) error { return m.Put(ctx, r, 0) }

func (m *Memory) live(now time.Time) (n int) {
	for _, r := range m.records {
		if now.Before(r.Expires) {
			n++
		}
	}
	return n
}

// PutCalls implements Store.
func (m *Memory) PutCalls(_ context.Context, id string, generation uint64, calls []Call) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[id]
	if !ok || r.Generation != generation {
		return ErrNotFound
	}
	for _, c := range calls {
		if !r.note(c) {
			return noCall(id, c.ID)
		}
	}
	return nil
}

// Get implements Store.
func (m *Memory) Get(_ context.Context, id string) (*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[id]
	switch {
	case m.hasEnded(id):
		return nil, ErrEnded
	case !ok:
		return nil, ErrNotFound
	case !time.Now().Before(r.Expires):
		return clone(r), ErrExpired
	}
	return clone(r), nil
}

// List implements Store.
func (m *Memory) List(_ context.Context) ([]*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	var out []*Record
	for _, r := range m.records {
		if now.Before(r.Expires) {
			c := clone(r)
			c.Image, c.ImageBytes = nil, len(c.Image)
			out = append(out, c)
		}
	}
	return out, nil
}

// Volatile says that the records do not outlive the process.
func (m *Memory) Volatile() {}

// Delete implements Store.
func (m *Memory) Delete(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.records, id)
	m.ended = slices.DeleteFunc(m.ended, func(e *Ended) bool { return e.ID == id })
	return nil
}

// Claim implements Store.
func (m *Memory) Claim(_ context.Context, id string) (Claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.claims[id] {
		return nil, ErrClaimed
	}
	if m.claims == nil {
		m.claims = make(map[string]bool)
	}
	m.claims[id] = true
	return &memoryClaim{m: m, id: id}, nil
}

// Sweep implements Store.
func (m *Memory) Sweep(_ context.Context, now time.Time) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, r := range m.records {
		if !now.Before(r.Expires) && !m.claims[id] {
			delete(m.records, id)
		}
	}
	m.ended = slices.DeleteFunc(m.ended, func(e *Ended) bool { return !now.Before(e.Expires) })
	maps.DeleteFunc(m.effects, func(id string, j *Effects) bool { return j.expired(now) != nil && !m.claims[effectsClaim(id)] })
	return len(m.records), nil
}

type memoryClaim struct {
	m    *Memory
	id   string
	once sync.Once
}

func (c *memoryClaim) Release() {
	c.once.Do(func() {
		c.m.mu.Lock()
		defer c.m.mu.Unlock()
		delete(c.m.claims, c.id)
	})
}

// clone copies what a caller could change; Image is never written after Put.
func clone(r *Record) *Record {
	c := *r
	c.Calls = slices.Clone(r.Calls)
	return &c
}
