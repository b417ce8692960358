package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

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

	owns atomic.Bool       // it has owned something
	lock *durable.FileLock // nil before join
}

func newProcess(folder string) *process {
	return &process{folder: folder, id: fmt.Sprintf("%s-%d", rand.Text(), os.Getpid())}
}

func (p *process) file(id string) string { return filepath.Join(p.folder, id+lockExt) }

// join makes the process known to the others. One of them may remove the file before it is
// locked, because it looks as if the process were dead.
func (p *process) join() error {
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return err
	}
	for {
		l := durable.NewLock(p.file(p.id))
		if err := l.Lock(context.Background(), false); err != nil {
			return errors.Join(err, l.Close())
		}
		if l.Holds(p.file(p.id)) {
			p.lock = l
			return nil
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
}

// end lets others have what the process owns.
func (p *process) end() error {
	if p.lock == nil {
		return nil
	}
	d := dead{p.id, p.lock}
	d.forget(p)
	return nil
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

// dead is a process that does not live. No other process takes its id, or finds it dead, while its
// file is locked.
type dead struct {
	owner string
	lock  *durable.FileLock
}

// forget removes the file, and lets the lock go.
func (d *dead) forget(p *process) {
	_ = os.Remove(p.file(d.owner)) // one that stays is looked at again
	_ = d.lock.Close()             // it held what no one needs
}

// known returns the other processes with a file: those that live, and those that do not, or have
// not locked their file yet. The latter wait until the caller has forgotten them: see join.
func (p *process) known() (live []string, gone []dead, err error) {
	files, err := os.ReadDir(p.folder)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		owner, ok := strings.CutSuffix(f.Name(), lockExt)
		if !ok || owner == p.id || !sealedrow.IDs.MatchString(owner) {
			continue
		}
		l := durable.NewLock(p.file(owner))
		if l.TryLock() == nil {
			gone = append(gone, dead{owner, l})
			continue
		}
		live = append(live, owner)
		_ = l.Close() // it holds nothing
	}
	return live, gone, nil
}

// others returns the ids that the system knows other processes by that use the state.
func (p *process) others() (pids []string, err error) {
	live, gone, err := p.known()
	for _, d := range gone {
		_ = d.lock.Close() // it is not removed
	}
	for _, owner := range live {
		_, pid, _ := strings.Cut(owner, "-")
		pids = append(pids, pid)
	}
	return pids, err
}
