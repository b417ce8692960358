package sqlite

import (
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/internal/statecopy"
	"github.com/quoinhq/quoin/host/runstore"
)

// DB is the state of one machine, as one process has it open. It is safe for concurrent use.
type DB struct {
	*conn
	*runs
	*effects
	closing sync.Once
}

var (
	_ runstore.Store       = (*DB)(nil)
	_ runstore.Identified  = (*DB)(nil)
	_ runstore.Scheduler   = (*DB)(nil)
	_ runstore.EffectStore = (*DB)(nil)
	_ runstore.Inventory   = (*DB)(nil)
	_ runstore.Monitored   = (*DB)(nil)
)

// Open opens the state in a directory, which it makes with mode 0700 where it does not exist. What
// earlier versions kept there in folders it takes over, which ctx bounds. The caller closes the DB
// after the host that uses it. The errors are ErrNewer, ErrOtherKey, runstore.ErrCorrupt,
// runstore.ErrClaimed while an earlier version uses the folders, and errors of the file system.
func Open(ctx context.Context, dir string, o Options) (*DB, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.times == (times{}) {
		o.times = defaultTimes
	}
	if err := makeFolder(dir, o); err != nil {
		return nil, fmt.Errorf("state directory %s: %w", dir, err)
	}
	if err := takeOver(ctx, dir, o); err != nil {
		return nil, err
	}
	return open(dir, o)
}

// errNetwork says that a state directory is on a network file system.
var errNetwork = errors.New("an SQLite database cannot be shared there: name a directory on a disk of this machine (state.dir, --state), or a database of several hosts (state.url)")

func makeFolder(dir string, o Options) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	networkOf := networkOf
	if o.networkOf != nil {
		networkOf = o.networkOf
	}
	name, err := networkOf(dir)
	if err == nil && name != "" {
		err = fmt.Errorf("it is on a network file system (%s): %w", name, errNetwork)
	}
	return err
}

// open opens a state.
func open(dir string, o Options) (_ *DB, err error) {
	if o.Key == nil {
		if o.Key, err = runstore.CreateKey(filepath.Join(dir, KeyFile)); err != nil {
			return nil, err
		}
	}
	c := &conn{
		dir: dir, times: o.times, log: o.Logger, key: o.Key, seal: sealedrow.Sealer{Key: o.Key}, locks: filepath.Join(dir, lockFolder),
		process: newProcess(filepath.Join(dir, processFolder)), changes: changes{now: make(chan struct{}, 1)},
	}
	c.ctx, c.close = context.WithCancel(context.Background())
	d := &DB{conn: c, runs: &runs{conn: c}, effects: &effects{c}}
	if err := d.open(o); err != nil {
		return nil, fmt.Errorf("state directory %s: %w", dir, errors.Join(explained(err), d.Close()))
	}
	return d, nil
}

func (d *DB) open(o Options) (err error) {
	if err := d.process.join(); err != nil {
		return err
	}
	if d.file, err = d.openFile(FileName, "state", o); err != nil {
		return err
	}
	if err := d.checkKey(); err != nil {
		return err
	}
	if err := d.checkMoving(); err != nil && !(o.Moving && errors.Is(err, statecopy.ErrMoving)) {
		return err
	}
	return d.freeAllDead()
}

// Close gives up what this process holds, and closes the files. Runs that are still claimed are
// free for other processes. A second time it does nothing.
func (d *DB) Close() (err error) {
	d.closing.Do(func() {
		d.close()
		d.done.Wait()
		if d.file != nil {
			err = errors.Join(d.freeOwn(), d.file.close())
		}
		err = errors.Join(err, d.process.end())
	})
	return err
}

// Identity implements runstore.Identified.
func (d *DB) Identity() string { return d.identity }

// Sealer returns the sealer for one purpose: see runstore.Key.
func (d *DB) Sealer(purpose string) *runstore.Sealer { return d.key.Sealer(purpose) }

// Cipher returns the cipher for one purpose: see runstore.Key.
func (d *DB) Cipher(purpose string) (cipher.AEAD, error) { return d.key.Cipher(purpose) }

// Check reads the structure of the whole file, which takes as long as the disk takes to read it.
// The error is runstore.ErrCorrupt. Seals are verified where rows are read.
func (d *DB) Check(ctx context.Context) error { return d.file.check(ctx) }

// Health implements runstore.Monitored. After a write that failed, a small one is tried from time
// to time.
func (d *DB) Health(context.Context) runstore.Health {
	h := &d.writer.health
	if !h.failing.Load() {
		return runstore.Health{State: runstore.HealthOK}
	}
	asked, at := h.asked.Load(), time.Now().UnixNano()
	if at-asked >= int64(d.times.told) && h.asked.CompareAndSwap(asked, at) {
		d.done.Go(func() {
			_ = d.write(d.ctx, 0, func(t *tx) error { // observe hears of it
				_, err := t.exec(`UPDATE installation SET key_id = key_id`)
				return err
			})
		})
	}
	return runstore.Health{State: runstore.HealthReadOnly}
}
