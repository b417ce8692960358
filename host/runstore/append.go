package runstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/durable"
)

// A run file may hold this much that newer frames have superseded, and twice the
// newest record, before it is written again.
const maxSuperseded = 64 << 10

// open is what this process knows of a run file that it writes to. The holder
// of the run's claim is the only writer.
type open struct {
	folder
	id string

	mu         sync.Mutex
	info       os.FileInfo // nil: the file has to be read before it is appended to
	size       int64
	chain      *chain
	generation uint64
	epoch      uint64 // the newest of a claim that wrote to the file
	expires    time.Time
	calls      map[uint64]bool // by id: calls of the newest record
	// A sync has failed: what is in the file may not be on disk whatever the next
	// sync says.
	unsure bool
}

// openFiles are the run files that this process writes to.
type openFiles struct {
	folder
	mu  sync.Mutex
	all map[string]*open // by run id
}

// take returns what is known of a run's file, with its mutex taken.
func (s *openFiles) take(id string) *open {
	s.mu.Lock()
	o := s.all[id]
	if o == nil {
		if s.all == nil {
			s.all = make(map[string]*open)
		}
		o = &open{folder: s.folder, id: id}
		s.all[id] = o
	}
	s.mu.Unlock()
	o.mu.Lock()
	return o
}

// close forgets what is known of a run's file.
func (s *openFiles) close(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}

// closeSound is close, unless a sync of the file has failed: the next claim of this
// process must not append to it either.
func (s *openFiles) closeSound(id string) {
	s.mu.Lock()
	o := s.all[id]
	s.mu.Unlock()
	if o == nil {
		return
	}
	o.mu.Lock()
	unsure := o.unsure
	o.mu.Unlock()
	if !unsure {
		s.close(id)
	}
}

// rewrite puts a file with one record in the place of the run's file.
func (o *open) rewrite(r *Record, epoch uint64) error {
	f, err := recordFrame(r, epoch)
	if err != nil {
		return err
	}
	c, name := newChain(o.key), o.at(o.id, recordExt)
	b, err := c.add([]byte(logMagic), f)
	if err != nil {
		return err
	}
	o.info = nil
	if err := durable.Replace(name, b, durable.Options{ModTime: r.Expires}); err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	o.info, o.size, o.unsure = info, int64(len(b)), false
	o.chain, o.epoch = c, epoch
	o.holds(r)
	return nil
}

// holds notes which record is the newest of the file.
func (o *open) holds(r *Record) {
	o.generation, o.expires, o.calls = r.Generation, r.Expires, make(map[uint64]bool, len(r.Calls))
	for _, c := range r.Calls {
		o.calls[c.ID] = true
	}
}

// know makes sure that o is how the file is now: another process may have had the
// run since.
func (o *open) know() error {
	name := o.at(o.id, recordExt)
	info, err := os.Stat(name)
	if err == nil && o.info != nil && os.SameFile(info, o.info) && info.Size() == o.size {
		return nil
	}
	o.info = nil
	l, err := o.read(o.id)
	if err != nil {
		return err
	}
	if info, err = os.Stat(name); err != nil {
		return err
	}
	o.info, o.size, o.chain, o.epoch = info, l.size, l.chain, l.epoch
	o.holds(l.record)
	return nil
}

// extend appends frames to the file and waits until they are on disk.
func (o *open) extend(expires time.Time, frames ...frame) error {
	c := &chain{key: o.chain.key, last: o.chain.last}
	var b []byte
	for _, f := range frames {
		var err error
		if b, err = c.add(b, f); err != nil {
			return err
		}
	}
	if o.size+int64(len(b)) > maxLog {
		return fmt.Errorf("%w: %d bytes, at most %d fit", ErrTooLarge, o.size+int64(len(b)), maxLog)
	}
	info := o.info
	o.info = nil
	flush := func(f *os.File) error {
		err := durable.Sync(f)
		o.unsure = err != nil
		return err
	}
	if err := appendAt(o.at(o.id, recordExt), o.size, b, expires, flush); err != nil {
		return err
	}
	o.info, o.size, o.chain = info, o.size+int64(len(b)), c
	return nil
}

// deleteRun deletes the files of a run. The lock file stays until the claim on it is
// released or a sweep finds it: a claim must keep holding a file that others can see.
func (d *Dir) deleteRun(id string) error {
	return errors.Join(d.deleteRecord(id), ignore(os.Remove(d.at(id, endedExt)), fs.ErrNotExist))
}

func (d *Dir) deleteRecord(id string) error {
	d.files.close(id)
	err := os.Remove(d.at(id, recordExt))
	if err == nil {
		d.held.Add(-1)
	}
	return ignore(err, fs.ErrNotExist)
}
