package agenda

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/quoinhq/quoin/examples/plugins/internal/localdb"
)

// once runs f in a write transaction, at most one time per idempotency key. An
// empty key promises nothing.
func once[T any](ctx context.Context, s *Store, verb, key string, f func(tx *sql.Tx) (T, error)) (out T, err error) {
	if key != "" {
		key = verb + "/" + key
	}
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		out, err = localdb.Once(ctx, tx, key, func() (T, error) { return f(tx) })
		return err
	})
	return out, err
}

// Create adds an event. Repeated with the same idempotency key it adds nothing
// and returns the same event.
func (s *Store) Create(ctx context.Context, key string, d Draft) (Event, error) {
	r, err := d.record(s.zone)
	if err != nil {
		return Event{}, err
	}
	return once(ctx, s, "create", key, func(tx *sql.Tx) (Event, error) {
		if d.OnlyIfFree {
			if err := s.checkFree(ctx, tx, r); err != nil {
				return Event{}, err
			}
		}
		if err := save(ctx, tx, r); err != nil {
			return Event{}, err
		}
		return r.event(), nil
	})
}

// checkFree refuses a single event if its time is taken. It runs where the
// event is saved, so no other booking can come in between.
func (s *Store) checkFree(ctx context.Context, tx *sql.Tx, r *record) error {
	w := r.from(r.start)
	events, err := candidates(ctx, tx, w)
	if err != nil {
		return err
	}
	found, err := during(events, w, s.zone)
	if err == nil && len(found) > 0 {
		return taken(found[0])
	}
	return err
}

// The scopes of a removal.
const (
	ScopeOccurrence = "occurrence" // one member of a series
	ScopeSeries     = "series"     // the event as a whole
)

// Removal says how much of an event goes.
type Removal struct {
	Scope      string `json:"scope,omitempty" enum:"occurrence,series" jsonschema:"how much of a recurring event goes: one occurrence or the whole series; required for recurring events"`
	Occurrence string `json:"occurrence,omitempty" jsonschema:"the member of the series (start of an item of list); required for scope occurrence"`
	Version    int64  `json:"version,omitempty" min:"1" jsonschema:"remove only if the event is still at this version"`
}

// Removed says what is gone.
type Removed struct {
	ID      int64  `json:"id"`
	Removed string `json:"removed" jsonschema:"occurrence or series"`
	Event   *Event `json:"event,omitempty" jsonschema:"what is left of the event; absent when nothing is"`
}

// Remove takes an event, or one member of a series, off the calendar.
func (s *Store) Remove(ctx context.Context, key string, id int64, how Removal) (Removed, error) {
	return once(ctx, s, "remove", key, func(tx *sql.Tx) (Removed, error) {
		r, err := find(ctx, tx, id)
		if err != nil {
			return Removed{}, err
		}
		if how.Version != 0 && how.Version != r.version {
			return Removed{}, conflict(id, r.version, how.Version)
		}
		if how.Scope == ScopeSeries || how.Scope == "" && !r.rule.repeats() {
			if _, err := tx.ExecContext(ctx, "delete from events where id = ?", id); err != nil {
				return Removed{}, fmt.Errorf("remove event %d: %w", id, err)
			}
			return Removed{ID: id, Removed: ScopeSeries}, nil
		}
		if err := r.cancel(how); err != nil {
			return Removed{}, err
		}
		if err := save(ctx, tx, r); err != nil {
			return Removed{}, err
		}
		return Removed{ID: id, Removed: ScopeOccurrence, Event: new(r.event())}, nil
	})
}

// cancel takes one member out of the series.
func (r *record) cancel(how Removal) error {
	switch {
	case !r.rule.repeats():
		return invalid("scope", "%q is for recurring events; leave it out", how.Scope)
	case how.Scope == "":
		return scopeRequired(r.id, "is recurring")
	case how.Scope != ScopeOccurrence:
		return invalid("scope", "must be occurrence or series, not %q", how.Scope)
	case how.Occurrence == "":
		return scopeRequired(r.id, "has many occurrences and none was named")
	}
	var p problems
	at, _ := parseTime(&p, "occurrence", how.Occurrence, r.start.Location())
	if err := p.err(); err != nil {
		return err
	}
	members, err := r.rule.between(r.start, at, at)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(members, func(m time.Time) bool { return m.Equal(at) }) {
		return noOccurrence(r.id, how.Occurrence)
	}
	if !slices.Contains(r.cancelled, at.Unix()) {
		r.cancelled = append(r.cancelled, at.Unix())
	}
	return nil
}
