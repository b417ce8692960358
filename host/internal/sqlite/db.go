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
	"github.com/quoinhq/quoin/host/runstore"
)

// KeyFile is the key of a state, in its directory.
const KeyFile = "state.key"

// The files and folders in a state directory.
const (
	fileName      = "state.db"
	eventsName    = "trajectory.db"
	processFolder = "processes"
	lockFolder    = "locks"
)

// times are what a process waits for, at most or in between.
type times struct {
	busy time.Duration // for another process that writes
	// told and untold are how often changes are looked for although nothing was heard of them,
	// where the system tells of changes and where it does not.
	told, untold time.Duration
}

var defaultTimes = times{busy: 10 * time.Second, told: 2 * time.Second, untold: 200 * time.Millisecond}

// Options say how a process uses a state.
type Options struct {
	// Key seals what is stored. Nil: the key in the file state.key of the directory, which is
	// made if there is no such file.
	Key    *runstore.Key
	Logger *slog.Logger // nil: slog.Default()

	// These are for tests.
	times times                       // zero means defaultTimes
	fault func(do func() error) error // makes one step
}

// DB is the state of one machine, as one process has it open. It is safe for concurrent use.
type DB struct {
	*file
	dir        string
	times      times
	log        *slog.Logger
	key        *runstore.Key
	seal       sealedrow.Sealer
	identity   string
	process    *process
	changes    changes
	known      knownRuns
	unreleased unreleased
	locks      string // the folder of the locks of documents

	ctx   context.Context // ends with Close
	close context.CancelFunc
	done  sync.WaitGroup
}

var (
	_ runstore.Store       = (*DB)(nil)
	_ runstore.Identified  = (*DB)(nil)
	_ runstore.Scheduler   = (*DB)(nil)
	_ runstore.EffectStore = (*DB)(nil)
	_ runstore.Inventory   = (*DB)(nil)
)

// Open opens the state in a directory, which it makes with mode 0700 where it does not exist. The
// caller closes the DB after the host that uses it. The errors are ErrNewer, ErrOtherKey,
// runstore.ErrCorrupt, and errors of the file system.
func Open(dir string, o Options) (_ *DB, err error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.times == (times{}) {
		o.times = defaultTimes
	}
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	if o.Key == nil {
		if o.Key, err = runstore.CreateKey(filepath.Join(dir, KeyFile)); err != nil {
			return nil, err
		}
	}
	d := &DB{
		dir: dir, times: o.times, log: o.Logger, key: o.Key, seal: sealedrow.Sealer{Key: o.Key}, locks: filepath.Join(dir, lockFolder),
		process: newProcess(filepath.Join(dir, processFolder)), changes: changes{now: make(chan struct{}, 1)},
	}
	d.ctx, d.close = context.WithCancel(context.Background())
	if err := d.open(o); err != nil {
		return nil, fmt.Errorf("state directory %s: %w", dir, errors.Join(explained(err), d.Close()))
	}
	return d, nil
}

func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	return nil
}

func (d *DB) open(o Options) (err error) {
	if d.file, err = openFile(filepath.Join(d.dir, fileName), "state", o); err != nil {
		return err
	}
	if err := d.checkKey(); err != nil {
		return err
	}
	return d.freeAllDead()
}

// Close gives up what this process holds, and closes the files. Runs that are still claimed are
// free for other processes.
func (d *DB) Close() error {
	d.close()
	d.done.Wait()
	var errs []error
	if d.file != nil {
		errs = append(errs, d.freeOwn(), d.file.close())
	}
	return errors.Join(append(errs, d.process.end())...)
}

// Identity implements runstore.Identified.
func (d *DB) Identity() string { return d.identity }

// Sealer returns the sealer for one purpose: see runstore.Key.
func (d *DB) Sealer(purpose string) *runstore.Sealer { return d.key.Sealer(purpose) }

// Cipher returns the cipher for one purpose: see runstore.Key.
func (d *DB) Cipher(purpose string) (cipher.AEAD, error) { return d.key.Cipher(purpose) }

// micros is a time as it is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

// microsOrNull is a time as it is stored, NULL if it is zero.
func microsOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}
