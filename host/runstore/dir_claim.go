package runstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Create implements Store.
func (d *Dir) Create(ctx context.Context, r *Record, max int) (_ Claim, err error) {
	if _, err := d.file(r.ID, recordExt); err != nil {
		return nil, badID(r.ID)
	}
	if d.has(r.ID) {
		return nil, ErrClaimed
	}
	if err := d.checkRoom(ctx, max); err != nil {
		return nil, err
	}
	lock, err := d.takeLock(r.ID)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.release()
		}
	}()
	if d.has(r.ID) {
		return nil, ErrClaimed
	}
	c := &dirClaim{d: d, id: r.ID, lock: lock, first: true}
	if c.epoch, err = lock.next(r.Epoch); err != nil {
		return nil, err
	}
	o := d.files.take(r.ID)
	defer o.mu.Unlock()
	if err := o.rewrite(r, c.epoch); err != nil {
		return nil, err
	}
	d.held.Add(1)
	return c, nil
}

func badID(id string) error {
	return fmt.Errorf("run id %q: expected 1 to 128 letters, digits, '_' and '-'", id)
}

// Claim implements Store with a file lock.
func (d *Dir) Claim(_ context.Context, id string) (_ Claim, err error) {
	lock, err := d.takeLock(id)
	if err != nil {
		return nil, err
	}
	if !d.has(id) {
		lock.release()
		return nil, ErrNotFound
	}
	epoch, err := lock.next(0)
	if err != nil {
		lock.release()
		return nil, err
	}
	d.schedule.woken.remove(id)
	return &dirClaim{d: d, id: id, lock: lock, epoch: epoch, over: d.hasEnded(id)}, nil
}

// Reserve implements Identified with a file lock.
func (d *Dir) Reserve(_ context.Context, id string) (release func(), err error) {
	l, err := d.takeLock(reservation(id))
	if err != nil {
		return nil, err
	}
	return l.release, nil
}

// dirClaim is a claim of a run in a directory.
type dirClaim struct {
	d     *Dir
	id    string
	lock  *dirLock
	epoch uint64

	mu       sync.Mutex // orders writes, and Release after them
	released bool
	over     bool // the run has a result, or was deleted
	first    bool // what the run file has of this epoch is of this claim
}

// Epoch implements Claim.
func (c *dirClaim) Epoch() uint64 { return c.epoch }

// write makes one write, unless the claim is not the newest.
func (c *dirClaim) write(write func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released || !c.lock.lock.Holds(c.lock.name) {
		return ErrFenced
	}
	if newest, err := c.lock.epoch(); err != nil || newest != c.epoch {
		return errors.Join(ErrFenced, err)
	}
	return write()
}

// known makes sure that o is how the run file is now, and that no newer claim has
// written to it. Before its first write no claim of the same epoch may have either.
func (c *dirClaim) known(o *open) error {
	err := o.know()
	if err == nil && (o.epoch > c.epoch || o.epoch == c.epoch && !c.first) {
		return errors.Join(ErrFenced, c.lock.setEpoch(o.epoch))
	}
	c.first = true
	return err
}

// Checkpoint implements Claim: it appends to the run's file, unless that has grown
// too large or cannot be appended to.
func (c *dirClaim) Checkpoint(_ context.Context, r *Record) error {
	if r.ID != c.id {
		return fmt.Errorf("a record of run %s for run %s", r.ID, c.id)
	}
	f, err := recordFrame(r, c.epoch)
	if err != nil {
		return err
	}
	return c.write(func() error {
		if c.over {
			return ErrNotFound
		}
		o := c.d.files.take(c.id)
		defer o.mu.Unlock()
		size := int64(frameBytes + len(f.header) + len(f.body))
		err := c.known(o)
		switch {
		case errors.Is(err, ErrFenced):
			return err
		case err != nil, o.unsure, o.size > maxSuperseded+2*size:
			err = o.rewrite(r, c.epoch)
		default:
			if err = o.extend(r.Expires, f); err == nil {
				o.epoch = c.epoch
				o.holds(r)
			}
		}
		return err
	})
}

// PutCalls implements Claim: it appends to the run's file.
func (c *dirClaim) PutCalls(_ context.Context, generation uint64, calls []Call) error {
	frames := make([]frame, 0, len(calls))
	for _, call := range calls {
		f, err := callFrame(call, c.epoch)
		if err != nil {
			return err
		}
		frames = append(frames, f)
	}
	return c.write(func() error {
		if c.over {
			return ErrNotFound
		}
		o := c.d.files.take(c.id)
		defer o.mu.Unlock()
		if err := c.known(o); err != nil {
			return err
		}
		if o.unsure {
			if err := c.renew(o); err != nil {
				return err
			}
		}
		if o.generation != generation {
			return ErrNotFound
		}
		expires := o.expires
		for _, call := range calls {
			if !o.calls[call.ID] {
				return noCall(c.id, call.ID)
			}
			if call.KeepUntil.After(expires) {
				expires = call.KeepUntil
			}
		}
		if err := o.extend(expires, frames...); err != nil {
			return err
		}
		o.epoch, o.expires = c.epoch, expires
		return nil
	})
}

// renew writes a file again after a failed sync: how much of it is on disk is unknown.
func (c *dirClaim) renew(o *open) error {
	l, err := o.read(c.id)
	if err != nil {
		return err
	}
	return o.rewrite(l.record, c.epoch)
}

// End implements Claim.
func (c *dirClaim) End(_ context.Context, e *Ended) error {
	if e.ID != c.id {
		return fmt.Errorf("a result of run %s for run %s", e.ID, c.id)
	}
	written := *e
	written.Epoch = c.epoch
	return c.write(func() error {
		err := c.d.end(&written)
		c.over = c.over || err == nil
		return err
	})
}

// Delete implements Claim.
func (c *dirClaim) Delete(context.Context) error {
	return c.write(func() error {
		err := c.d.deleteRun(c.id)
		c.over = c.over || err == nil
		return err
	})
}

// Release implements Claim.
func (c *dirClaim) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released = true
	c.lock.release()
}
