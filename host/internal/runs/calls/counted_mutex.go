package calls

import (
	"sync"
)

// CountedMutex is a mutex that counts how often it was taken. A test bounds that count
// for one tool call.
type CountedMutex struct {
	sync.Mutex
	taken uint64
}

// Lock takes the mutex.
func (m *CountedMutex) Lock() {
	m.Mutex.Lock()
	m.taken++
}

// TimesTaken returns how often the mutex was taken.
func (m *CountedMutex) TimesTaken() uint64 {
	m.Mutex.Lock()
	defer m.Mutex.Unlock()
	return m.taken
}
