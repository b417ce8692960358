package sqlite

import (
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

// join makes the process known to the others.
func (p *process) join() error {
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
	if p.lock == nil {
		return nil
	}
	p.forget(p.id)
	return p.lock.Close()
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

// known returns the other processes with a file: those that live, and those that do not.
func (p *process) known() (live, dead []string, err error) {
	files, err := os.ReadDir(p.folder)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		owner, ok := strings.CutSuffix(f.Name(), lockExt)
		switch {
		case !ok || owner == p.id:
		case p.lives(owner):
			live = append(live, owner)
		default:
			dead = append(dead, owner)
		}
	}
	return live, dead, nil
}

// others returns the ids that the system knows other processes by that use the state.
func (p *process) others() (pids []string, err error) {
	live, _, err := p.known()
	for _, owner := range live {
		_, pid, _ := strings.Cut(owner, "-")
		pids = append(pids, pid)
	}
	return pids, err
}
