package mcpserver

import (
	"context"
	"io/fs"
	"sync"
	"time"
)

// memoryTasks are the documents of a server that has no store of tasks.
type memoryTasks struct {
	mu    sync.Mutex
	tasks map[string]memoryTask
	locks sync.Map // a mutex for each name
}

type memoryTask struct {
	content []byte
	until   time.Time
}

// newMemoryTasks returns tasks that end with the process.
func newMemoryTasks() *Tasks { return &Tasks{docs: &memoryTasks{tasks: map[string]memoryTask{}}} }

// Replace implements taskDocuments.
func (m *memoryTasks) Replace(_ context.Context, name string, content []byte, until time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tasks[name] = memoryTask{content, until}
	return nil
}

// Read implements taskDocuments.
func (m *memoryTasks) Read(_ context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.tasks[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return t.content, nil
}

// Names implements taskDocuments: all names have the one extension.
func (m *memoryTasks) Names(_ context.Context, _ string, due time.Time) (names []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, t := range m.tasks {
		if !t.until.After(due) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Counts implements taskDocuments.
func (m *memoryTasks) Counts(context.Context) (map[string]int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return map[string]int{taskExt: len(m.tasks)}, nil
}

// Remove implements taskDocuments.
func (m *memoryTasks) Remove(_ context.Context, names ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		delete(m.tasks, name)
		m.locks.Delete(name)
	}
	return nil
}

// Sweep implements taskDocuments: nothing in memory is left by a process that died.
func (m *memoryTasks) Sweep(context.Context, time.Time, int) error { return nil }

// Lock implements taskDocuments. Who has a lock has it for moments, or is the one driver
// of this process: ctx does not end it.
func (m *memoryTasks) Lock(ctx context.Context, name string) (held context.Context, unlock func(), err error) {
	l, _ := m.locks.LoadOrStore(name+".lock", new(sync.Mutex))
	l.(*sync.Mutex).Lock()
	return ctx, l.(*sync.Mutex).Unlock, nil
}
