package runstore

import (
	"context"
	"fmt"
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
	claims  map[string]*memoryClaim
	epochs  map[string]uint64   // of the newest claim of each run
	effects map[string]*Effects // by run
	writers map[string]bool     // runs with an open journal of effects
	wakes   wakes
}

var (
	_ Store       = (*Memory)(nil)
	_ Volatile    = (*Memory)(nil)
	_ EffectStore = (*Memory)(nil)
)

func (m *Memory) live(now time.Time) (n int) {
	for _, r := range m.records {
		if now.Before(r.Expires) {
			n++
		}
	}
	return n
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

// Sweep implements Store.
func (m *Memory) Sweep(_ context.Context, now time.Time) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, r := range m.records {
		if !now.Before(r.Expires) && m.claims[id] == nil {
			delete(m.records, id)
		}
	}
	m.ended = slices.DeleteFunc(m.ended, func(e *Ended) bool { return !now.Before(e.Expires) })
	maps.DeleteFunc(m.epochs, func(id string, _ uint64) bool { return m.claims[id] == nil && !m.has(id) })
	maps.DeleteFunc(m.effects, func(id string, j *Effects) bool { return j.expired(now) != nil && !m.writers[id] })
	return len(m.records), nil
}

// clone copies what a caller could change; Image is never written after it was stored.
func clone(r *Record) *Record {
	c := *r
	c.Calls = slices.Clone(r.Calls)
	return &c
}

// Ended implements Store.
func (m *Memory) Ended(_ context.Context, id string) (*Ended, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.ended {
		if e.ID != id {
			continue
		}
		if !time.Now().Before(e.Expires) {
			return nil, ErrExpired
		}
		out := *e
		return &out, nil
	}
	return nil, ErrNotFound
}

// end puts the result of a run in the place of its record. The caller holds mu.
func (m *Memory) end(e *Ended) error {
	if len(e.Result) > MaxEndedBytes {
		return fmt.Errorf("%w: its result has %d bytes", ErrTooLarge, len(e.Result))
	}
	delete(m.records, e.ID)
	m.ended = slices.DeleteFunc(m.ended, func(known *Ended) bool { return known.ID == e.ID })
	sizes := make([]int64, 0, len(m.ended))
	for _, known := range m.ended {
		sizes = append(sizes, int64(len(known.Result)))
	}
	m.ended = append(slices.Delete(m.ended, 0, Superfluous(sizes, int64(len(e.Result)))), e)
	return nil
}

// hasEnded reports whether a run has a result. The caller holds mu.
func (m *Memory) hasEnded(id string) bool {
	return slices.ContainsFunc(m.ended, func(e *Ended) bool { return e.ID == id })
}

// memoryClaim is a claim of a run in memory.
type memoryClaim struct {
	m     *Memory
	id    string
	epoch uint64
	over  bool // the run has a result, or was deleted; guarded by the mu of m
}

// has reports whether there is a record or a result of a run. The caller holds mu.
func (m *Memory) has(id string) bool { return m.records[id] != nil || m.hasEnded(id) }
