package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/internal/durable"
)

// lockExt is the extension of files that are locked.
const lockExt = ".lock"

// process is this process among those that use a state. Each has a file that it locks: the
// system drops the lock when the process dies, and keeps it while the process is stopped. What
// a process owns is free for the others as soon as it does not live.
type process struct {
	folder string
	id     string // of this DB alone, and never the same twice

	mu   sync.Mutex
	lock *durable.FileLock // nil before the process owns something
}

func newProcess(folder string) *process { return &process{folder: folder, id: rand.Text()} }

func (p *process) file(id string) string { return filepath.Join(p.folder, id+lockExt) }

// join makes the process known, before it owns something for the first time.
func (p *process) join() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lock != nil {
		return nil
	}
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return err
	}
	l := durable.NewLock(p.file(p.id))
	if err := l.TryLock(); err != nil {
		return errors.Join(err, l.Close())
	}
	p.lock = l
	return nil
}

// end lets others have what the process owns.
func (p *process) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lock == nil {
		return nil
	}
	l := p.lock
	p.lock = nil
	p.forget(p.id)
	return l.Close()
}

// lives reports whether an owner is a process that lives. One that cannot be asked about does.
func (p *process) lives(owner string) bool {
	if owner == p.id {
		return true
	}
	if !sealedrow.IDs.MatchString(owner) {
		return false // no process has written that
	}
	path := p.file(owner)
	if _, err := os.Lstat(path); err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	l := durable.NewLock(path)
	err := l.TryLock()
	_ = l.Close() // it held nothing, or what no one needs
	return err != nil
}

// forget removes the file of a process that does not live, or ends.
func (p *process) forget(owner string) {
	if sealedrow.IDs.MatchString(owner) {
		_ = os.Remove(p.file(owner)) // one that stays is looked at again
	}
}

// dead returns the processes with a file that do not live.
func (p *process) dead() (owners []string, err error) {
	files, err := os.ReadDir(p.folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		if owner, ok := strings.CutSuffix(f.Name(), lockExt); ok && !p.lives(owner) {
			owners = append(owners, owner)
		}
	}
	return owners, nil
}

// freeDead frees what processes owned that have died.
func (d *DB) freeDead(ctx context.Context) error {
	owners, err := d.process.dead()
	if err != nil {
		return err
	}
	return d.free(ctx, owners)
}

// freeAllDead is freeDead also for processes without a file: a machine that failed may have
// lost it.
func (d *DB) freeAllDead() error {
	var owners []string
	err := d.read(d.ctx, func(q querier) error {
		return q.rows(`SELECT owner FROM runs WHERE owner IS NOT NULL UNION SELECT owner FROM effects WHERE owner IS NOT NULL UNION SELECT owner FROM reserved`, nil,
			func(scan func(...any) error) error {
				var owner string
				err := scan(&owner)
				if err == nil && !d.process.lives(owner) {
					owners = append(owners, owner)
				}
				return err
			})
	})
	if err != nil {
		return err
	}
	return errors.Join(d.free(d.ctx, owners), d.freeDead(d.ctx))
}

// freeOwn frees what this process owns, at its end.
func (d *DB) freeOwn() error {
	d.process.mu.Lock()
	joined := d.process.lock != nil
	d.process.mu.Unlock()
	if !joined {
		return nil
	}
	return d.free(context.Background(), []string{d.process.id})
}

// free frees what owners have. Their runs are due: a process may have died with work left.
func (d *DB) free(ctx context.Context, owners []string) error {
	if len(owners) == 0 {
		return nil
	}
	err := d.write(ctx, 0, func(t *tx) error {
		for _, owner := range owners {
			for _, statement := range []string{
				`DELETE FROM records WHERE n IN (SELECT n FROM runs WHERE owner = ? AND gone)`,
				`DELETE FROM runs WHERE owner = ? AND gone`,
				`UPDATE runs SET owner = NULL, woken = coalesce(woken, unixepoch() * 1000000), woken_epoch = epoch WHERE owner = ?`,
				`UPDATE effects SET owner = NULL WHERE owner = ?`,
				`DELETE FROM reserved WHERE owner = ?`,
			} {
				if _, err := t.exec(statement, owner); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for _, owner := range owners {
		if err == nil && owner != d.process.id { // its file goes with the lock
			d.process.forget(owner)
		}
	}
	return err
}
