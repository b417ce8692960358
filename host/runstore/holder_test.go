package runstore

import (
	"context"
	"errors"
)

// Holder writes runs as the only one who does: each write has a claim of its own.
type Holder struct{ Store }

// Alone returns the holder of the runs of a store.
func Alone(s Store) Holder { return Holder{s} }

// Put stores a record, whether there is one or not.
func (h Holder) Put(ctx context.Context, r *Record, max int) error {
	c, err := h.Create(ctx, r, max)
	if errors.Is(err, ErrClaimed) {
		return h.Checkpoint(ctx, r)
	}
	if err == nil {
		c.Release()
	}
	return err
}

func (h Holder) with(ctx context.Context, id string, write func(Claim) error) error {
	c, err := h.Claim(ctx, id)
	if err != nil {
		return err
	}
	defer c.Release()
	return write(c)
}

func (h Holder) Checkpoint(ctx context.Context, r *Record) error {
	return h.with(ctx, r.ID, func(c Claim) error { return c.Checkpoint(ctx, r) })
}

func (h Holder) PutCalls(ctx context.Context, id string, generation uint64, calls []Call) error {
	return h.with(ctx, id, func(c Claim) error { return c.PutCalls(ctx, generation, calls) })
}

// End stores a result, also of a run that was not stored before.
func (h Holder) End(ctx context.Context, e *Ended) error {
	err := h.with(ctx, e.ID, func(c Claim) error { return c.End(ctx, e) })
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	if err := h.Put(ctx, &Record{ID: e.ID, Format: FormatVersion, Expires: e.Expires}, 0); err != nil {
		return err
	}
	return h.End(ctx, e)
}

func (h Holder) Delete(ctx context.Context, id string) error {
	err := h.with(ctx, id, func(c Claim) error { return c.Delete(ctx) })
	return ignore(err, ErrNotFound)
}
