package runstore

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Create implements Store.
func (m *Memory) Create(_ context.Context, r *Record, max int) (Claim, error) {
	if !idPattern.MatchString(r.ID) {
		return nil, badID(r.ID)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.has(r.ID) || m.claims[r.ID] != nil {
		return nil, ErrClaimed
	}
	if max > 0 && len(m.records) >= max && m.live(time.Now()) >= max {
		return nil, ErrFull
	}
	if m.records == nil {
		m.records = make(map[string]*Record)
	}
	c := m.claim(r.ID, r.Epoch)
	c.put(r)
	return c, nil
}

// Claim implements Store.
func (m *Memory) Claim(_ context.Context, id string) (Claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.claims[id] != nil:
		return nil, ErrClaimed
	case !m.has(id):
		return nil, ErrNotFound
	}
	return m.claim(id, 0), nil
}

// claim makes the newest claim of a run, with an epoch greater than least. The caller
// holds mu.
func (m *Memory) claim(id string, least uint64) *memoryClaim {
	if m.claims == nil {
		m.claims, m.epochs = make(map[string]*memoryClaim), make(map[string]uint64)
	}
	m.epochs[id] = max(m.epochs[id], least) + 1
	c := &memoryClaim{m: m, id: id, epoch: m.epochs[id], over: m.hasEnded(id)}
	m.claims[id] = c
	m.wakes.remove(id)
	return c
}

// Epoch implements Claim.
func (c *memoryClaim) Epoch() uint64 { return c.epoch }

// write makes one write, unless the claim is not the newest.
func (c *memoryClaim) write(write func() error) error {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if c.m.claims[c.id] != c {
		return ErrFenced
	}
	return write()
}

// put stores r. The caller holds mu.
func (c *memoryClaim) put(r *Record) {
	stored := clone(r)
	stored.Epoch = c.epoch
	c.m.records[c.id] = stored
}

// Checkpoint implements Claim.
func (c *memoryClaim) Checkpoint(_ context.Context, r *Record) error {
	if r.ID != c.id {
		return fmt.Errorf("a record of run %s for run %s", r.ID, c.id)
	}
	return c.write(func() error {
		if c.over {
			return ErrNotFound
		}
		c.put(r)
		return nil
	})
}

// PutCalls implements Claim.
func (c *memoryClaim) PutCalls(_ context.Context, generation uint64, calls []Call) error {
	return c.write(func() error {
		r, ok := c.m.records[c.id]
		if !ok || r.Generation != generation {
			return ErrNotFound
		}
		for _, call := range calls {
			if !slices.ContainsFunc(r.Calls, func(known Call) bool { return known.ID == call.ID }) {
				return noCall(c.id, call.ID)
			}
		}
		for _, call := range calls {
			r.note(call)
		}
		return nil
	})
}

// End implements Claim.
func (c *memoryClaim) End(_ context.Context, e *Ended) error {
	if e.ID != c.id {
		return fmt.Errorf("a result of run %s for run %s", e.ID, c.id)
	}
	return c.write(func() error {
		kept := *e
		kept.Epoch = c.epoch
		err := c.m.end(&kept)
		c.over = c.over || err == nil
		return err
	})
}

// Delete implements Claim.
func (c *memoryClaim) Delete(context.Context) error {
	return c.write(func() error {
		delete(c.m.records, c.id)
		c.m.ended = slices.DeleteFunc(c.m.ended, func(e *Ended) bool { return e.ID == c.id })
		c.over = true
		return nil
	})
}

// Release implements Claim.
func (c *memoryClaim) Release() {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if c.m.claims[c.id] != c {
		return
	}
	delete(c.m.claims, c.id)
	if !c.m.has(c.id) {
		delete(c.m.epochs, c.id)
		c.m.wakes.remove(c.id)
	}
}
