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
	claims  map[string]*memoryClaim
	epochs  map[string]uint64   // of the newest claim of each run
	effects map[string]*Effects // by run
	writers map[string]bool     // runs whose journal of effects is open
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
