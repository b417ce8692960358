package runstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/quoinhq/quoin/internal/durable"
)

// A run file may hold this much that newer frames have superseded, and twice the
// newest record, before it is written again.
const maxSuperseded = 64 << 10

// opened returns what is known of a run's file, with its mutex taken.
func (d *Dir) opened(id string) *open {
	d.mu.Lock()
	o := d.open[id]
	if o == nil {
		if d.open == nil {
			d.open = make(map[string]*open)
		}
		o = new(open)
		d.open[id] = o
	}
	d.mu.Unlock()
	o.mu.Lock()
	return o
}

// close forgets what is known of a run's file.
func (d *Dir) close(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, id)
}

// closeSound is close, unless a sync of the file has failed: the next claim of this
// process must not append to it either.
func (d *Dir) closeSound(id string) {
	d.mu.Lock()
	o := d.open[id]
	d.mu.Unlock()
	if o == nil {
		return
	}
	o.mu.Lock()
	unsure := o.unsure
	o.mu.Unlock()
	if !unsure {
		d.close(id)
	}
}

// rewrite puts a file with one record in the place of the run's file.
func (d *Dir) rewrite(o *open, name string, r *Record, epoch uint64) error {
	f, err := recordFrame(r, epoch)
	if err != nil {
		return err
	}
	c := newChain(d.key)
	b, err := c.add([]byte(logMagic), f)
	if err != nil {
		return err
	}
	o.info = nil
	if err := d.replace(name, b, r.Expires); err != nil {
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
func (d *Dir) know(o *open, name string) error {
	info, err := os.Stat(name)
	if err == nil && o.info != nil && os.SameFile(info, o.info) && info.Size() == o.size {
		return nil
	}
	o.info = nil
	l, err := d.readFile(name)
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

// extend appends frames to the file and waits until they are on disk. What a writer
// that died has left behind the last frame is cut off.
func (o *open) extend(name string, expires time.Time, frames ...frame) (err error) {
	c := &chain{key: o.chain.key, last: o.chain.last}
	var b []byte
	for _, f := range frames {
		if b, err = c.add(b, f); err != nil {
			return err
		}
	}
	if o.size+int64(len(b)) > maxLog {
		return fmt.Errorf("%w: %d bytes, at most %d fit", ErrTooLarge, o.size+int64(len(b)), maxLog)
	}
	info := o.info
	o.info = nil
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err = f.Truncate(o.size); err == nil {
		_, err = f.WriteAt(b, o.size)
	}
	if err == nil {
		err = os.Chtimes(name, expires, expires)
	}
	if err == nil {
		err = durable.Sync(f)
		o.unsure = err != nil
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	o.info, o.size, o.chain = info, o.size+int64(len(b)), c
	return nil
}

// deleteRun deletes the files of a run. The lock file stays until the claim on it is
// released or a sweep finds it: a claim must keep holding a file that others can see.
func (d *Dir) deleteRun(id string) error {
	return errors.Join(d.deleteRecord(id), ignore(os.Remove(filepath.Join(d.path, id+endedExt)), fs.ErrNotExist))
}

func (d *Dir) deleteRecord(id string) error {
	d.close(id)
	err := os.Remove(filepath.Join(d.path, id+recordExt))
	if err == nil {
		d.held.Add(-1)
	}
	return ignore(err, fs.ErrNotExist)
}
