package policy

import (
	"context"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/documents"
)

// MemoryApprovals is a store that lives and dies with its process. The zero value
// is ready for use.
type MemoryApprovals struct {
	// MaxPending bounds the pending approvals. Defaults to DefaultMaxPending.
	MaxPending int

	mu        sync.Mutex
	approvals map[string]*Approval
	pending   int
	grants    map[string]Grant
	watchers  documents.Watchers
}

var _ Approvals = (*MemoryApprovals)(nil)

// Add implements Approvals.
func (m *MemoryApprovals) Add(_ context.Context, a *Approval) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pending >= orDefault(m.MaxPending) {
		return ErrFull
	}
	if m.approvals == nil {
		m.approvals = make(map[string]*Approval)
	}
	m.makeRoom()
	m.approvals[a.ID] = a.clone()
	m.pending++
	return nil
}

// makeRoom forgets resolved approvals before their time when there are too many.
// The caller holds mu.
func (m *MemoryApprovals) makeRoom() {
	limit := orDefault(m.MaxPending)
	if len(m.approvals) < maxKeptMemory*limit {
		return
	}
	var list []finishedApproval
	for id, a := range m.approvals {
		if a.State != StatePending {
			list = append(list, finishedApproval{id, Resolution{Decision: a.Decision, At: a.Decided, Answers: a.Answers}})
		}
	}
	for _, id := range surplus(list, limit) {
		delete(m.approvals, id)
	}
}

// orDefault returns the limit of pending approvals.
func orDefault(max int) int {
	if max <= 0 {
		return DefaultMaxPending
	}
	return max
}

// Get implements Approvals.
func (m *MemoryApprovals) Get(_ context.Context, id string) (*Approval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, ok := m.approvals[id]; ok {
		return a.clone(), nil
	}
	return nil, ErrNotFound
}

// List implements Approvals.
func (m *MemoryApprovals) List(context.Context) ([]*Approval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*Approval, 0, len(m.approvals))
	for _, a := range m.approvals {
		out = append(out, a.clone())
	}
	byAge(out)
	return out, nil
}

// Resolve implements Approvals.
func (m *MemoryApprovals) Resolve(_ context.Context, id string, r Resolution) (*Approval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.approvals[id]
	if !ok {
		return nil, ErrNotFound
	}
	if a.State == StatePending {
		r.apply(a)
		m.pending--
		m.watchers.Tell("")
	}
	return a.clone(), nil
}

// Watch implements Approvals.
func (m *MemoryApprovals) Watch(ctx context.Context) <-chan struct{} { return m.watchers.Add(ctx, "") }

// Remember implements Approvals.
func (m *MemoryApprovals) Remember(_ context.Context, g Grant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.grants == nil {
		m.grants = make(map[string]Grant)
	}
	if _, known := m.grants[g.ID]; !known && len(m.grants) >= maxGrants {
		return ErrFull
	}
	m.grants[g.ID] = g
	return nil
}

// Grant implements Approvals.
func (m *MemoryApprovals) Grant(_ context.Context, id string) (*Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g, ok := m.grants[id]; ok {
		return &g, nil
	}
	return nil, ErrNotFound
}

// Grants implements Approvals.
func (m *MemoryApprovals) Grants(context.Context) ([]*Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*Grant, 0, len(m.grants))
	for _, g := range m.grants {
		out = append(out, &g)
	}
	grantsByAge(out)
	return out, nil
}

// Forget implements Approvals.
func (m *MemoryApprovals) Forget(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.grants[id]; !ok {
		return ErrNotFound
	}
	delete(m.grants, id)
	return nil
}

// Sweep implements Approvals.
func (m *MemoryApprovals) Sweep(_ context.Context, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, a := range m.approvals {
		switch {
		case a.State == StatePending && !now.Before(a.Expires):
			Resolution{State: StateExpired, At: now}.apply(a)
			m.pending--
			m.watchers.Tell("")
		case a.State != StatePending && now.Sub(a.Decided) > retention:
			delete(m.approvals, id)
		}
	}
	return nil
}
