package upkeep

import (
	"context"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// A parked run that no call holds here is left to any process of the store, and this one
// keeps what it knows of it: it resumes the run faster, and the run has its place among the
// runs of its session. Another process that resumes the run does not tell. So a process
// looks in the store for what it keeps of runs that have moved: before it refuses a place,
// where it lists runs, and now and then.

// idleRun is a parked run that this process has no claim of, as it was at a moment.
type idleRun struct {
	*drive.Run
	journal.Version
}

// Idle returns the Idle runs that other processes may have.
func (m *Moved) Idle() (out []idleRun) {
	if m.env.Volatile() {
		return nil
	}
	for _, r := range m.runs.OwnedBy(func(codemode.Session) bool { return true }) {
		if r.IsIdle() {
			r.Record.Exclusive(func() { out = append(out, idleRun{r, r.Record.Version()}) })
		}
	}
	return out
}

// Moved are the looks for runs that have moved.
type Moved struct {
	env  *run.Env
	runs Runs

	mu    sync.Mutex
	pace  pace
	found time.Time // when the newest look that has found one ended
}

func NewMoved(e *run.Env, runs Runs) *Moved { return &Moved{env: e, runs: runs} }

// LetGo releases idle runs that have moved.
func (m *Moved) LetGo(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.look(ctx)
	return err
}

// MakeRoom is LetGo for a run that was refused a place at a moment, which programs can cause
// often: looks that find nothing are paced. It reports whether any was released since then.
func (m *Moved) MakeRoom(ctx context.Context, since time.Time) (moved bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := false
	m.pace.look(func() { found, err = m.look(ctx) })
	if found { // there are no more such looks than runs that have moved
		m.pace.next = time.Time{}
	}
	return m.found.After(since), err
}

func (m *Moved) look(ctx context.Context) (found bool, _ error) {
	idle := m.Idle()
	if len(idle) == 0 {
		return false, nil
	}
	records, err := m.env.Store.List(ctx)
	if err != nil || LeaveMoved(idle, records) == 0 {
		return false, err
	}
	m.found = time.Now()
	return true, nil
}

// LeaveMoved releases those runs that the store no longer has as they were, and returns how
// many they are. The records were listed after the runs.
func LeaveMoved(idle []idleRun, records []*runstore.Record) (moved int) {
	stored := make(map[string]*runstore.Record, len(records))
	for _, rec := range records {
		stored[rec.ID] = rec
	}
	for _, r := range idle {
		rec := stored[r.ID]
		if rec == nil && r.IsPastExpiry() { // its timer ends it
			continue
		}
		if (rec == nil || !r.IsOf(rec) || rec.Live) && r.LeaveIdle(r.Version) {
			moved++
		}
	}
	return moved
}
