package sqlite

import (
	"errors"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/internal/documents"
)

// ErrInjected is a fault that a test has asked for.
var ErrInjected = errors.New("a fault of the test")

// Faults has a step of a DB fail.
type Faults struct {
	mu    sync.Mutex
	left  int // steps until it fails; 0: none does
	after bool
}

// Faulty has the steps of a DB fail as the faults say.
func Faulty(o Options) (Options, *Faults) {
	f := &Faults{}
	o.fault = f.do
	return o, f
}

// Set has the nth step from now fail, before or after it takes effect.
func (f *Faults) Set(n int, after bool) (end func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.after = n, after
	return func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		reached := f.left <= 0
		f.left = 0
		return reached
	}
}

func (f *Faults) do(step func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left--
	if f.left != 0 {
		return step()
	}
	if f.after {
		return errors.Join(ErrInjected, step())
	}
	return ErrInjected
}

// DocumentsOf returns the store of a purpose.
func (d *DB) DocumentsOf(purpose string, o documents.DirOptions) documents.Store {
	return d.documents(statedocs.Purpose(purpose), o)
}

// Stepping has do make each step of a DB.
func Stepping(o Options, do func(func() error) error) Options {
	o.fault = do
	return o
}

// OnNetwork has the folder be on a network file system.
func OnNetwork(o Options, name string) Options {
	o.networkOf = func(string) (string, error) { return name, nil }
	return o
}

// Change makes a statement as another program does.
func (d *DB) Change(statement string) error {
	return d.write(d.ctx, 0, func(t *tx) error {
		_, err := t.exec(statement)
		return err
	})
}

// Checkpoint moves what is in the log into the file.
func (d *DB) Checkpoint() error {
	_, err := d.writer.pool.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

// Looking has a process look for what has changed in that time, although nothing was heard.
func Looking(o Options, every time.Duration) Options {
	o.times = times{busy: defaultTimes.busy, told: every, untold: every}
	return o
}
