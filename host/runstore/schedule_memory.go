package runstore

import (
	"context"
	"time"
)

var _ Scheduler = (*Memory)(nil)

// Wake implements Scheduler.
func (m *Memory) Wake(_ context.Context, id string) error {
	m.mu.Lock()
	_, there := m.records[id]
	if there {
		m.wakes.add(id)
	}
	m.mu.Unlock()
	if there {
		m.wakes.announce(id)
	}
	return nil
}

// Due implements Scheduler.
func (m *Memory) Due(_ context.Context, limit int) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []dueRun
	now := time.Now()
	for id, r := range m.records {
		at, ok := r.DueAt()
		if since, woken := m.wakes.at(id); woken && (!ok || since.Before(at)) {
			at, ok = since, true
		}
		if ok && !at.After(now) && now.Before(r.Expires) && m.claims[id] == nil {
			due = append(due, dueRun{id, at})
		}
	}
	return oldest(due, limit), nil
}

// Watch implements Scheduler.
func (m *Memory) Watch(ctx context.Context) <-chan string { return m.wakes.watch(ctx) }
