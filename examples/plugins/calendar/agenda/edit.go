package agenda

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"

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
	r.uid = strings.ToLower(rand.Text()) + "@calendar.invalid"
	return once(ctx, s, "create", key, func(tx *sql.Tx) (Event, error) {
		if d.OnlyIfFree {
			if err := s.checkFree(ctx, tx, r); err != nil {
				return Event{}, err
			}
		}
		if err := s.save(ctx, tx, r); err != nil {
			return Event{}, err
		}
		return r.event(), nil
	})
}

// checkFree refuses a single event whose time is taken. It runs where the
// event is saved, so no other booking can come in between.
func (s *Store) checkFree(ctx context.Context, tx *sql.Tx, r *record) error {
	w := r.span.in(r.zoneSeenFrom(s.zone))
	events, err := candidates(ctx, tx, w)
	if err != nil {
		return err
	}
	found, err := expand(events, w, s.zone)
	if err != nil {
		return err
	}
	for _, o := range found {
		if blocks(o, r.attendees) {
			return taken(o)
		}
	}
	return nil
}

// Update edits an event or, when the patch names an occurrence, one member of a
// series.
func (s *Store) Update(ctx context.Context, key string, id int64, patch Patch) (Event, error) {
	return once(ctx, s, "update", key, func(tx *sql.Tx) (Event, error) {
		r, err := find(ctx, tx, id)
		if err != nil {
			return Event{}, err
		}
		if patch.Version != 0 && patch.Version != r.version {
			return Event{}, conflict(id, r.version, patch.Version)
		}
		if patch.Occurrence != "" {
			err = s.updateOne(r, patch)
		} else {
			err = s.updateAll(r, patch)
		}
		if err != nil {
			return Event{}, err
		}
		if err := s.save(ctx, tx, r); err != nil {
			return Event{}, err
		}
		return r.event(), nil
	})
}

func (s *Store) updateOne(r *record, patch Patch) error {
	if !r.rule.Repeats() {
		return invalid("occurrence", "is for recurring events; leave it out")
	}
	key, err := r.key(patch.Occurrence)
	if err != nil {
		return err
	}
	x, err := patch.exception(r, key)
	if err != nil {
		return err
	}
	r.exceptions[key] = x
	return nil
}

// updateAll edits the series and drops the exceptions that have lost their
// place in it.
func (s *Store) updateAll(r *record, patch Patch) error {
	wasAllDay := r.span.AllDay
	if err := patch.apply(r, nil); err != nil {
		return err
	}
	for key := range r.exceptions {
		has, err := r.has(key)
		if err != nil {
			return err
		}
		if !has || !r.rule.Repeats() || wasAllDay != r.span.AllDay {
			delete(r.exceptions, key)
		}
	}
	return nil
}

// The scopes of a removal.
const (
	ScopeOccurrence = "occurrence" // one member of a series
	ScopeFollowing  = "following"  // that member and all later ones
	ScopeSeries     = "series"     // the event as a whole
)

// Removal says how much of an event goes.
type Removal struct {
	Scope      string `json:"scope,omitempty" enum:"occurrence,following,series" jsonschema:"how much of a recurring event goes: one occurrence, that and all following ones, or the whole series; required for recurring events"`
	Occurrence string `json:"occurrence,omitempty" jsonschema:"the member of the series (occurrence field of an item of list); required for scope occurrence and following"`
	Version    int64  `json:"version,omitempty" min:"1" jsonschema:"remove only if the event is still at this version"`
}

// Removed says what is gone.
type Removed struct {
	ID      int64  `json:"id"`
	Removed string `json:"removed" jsonschema:"occurrence, following or series"`
	Event   *Event `json:"event,omitempty" jsonschema:"what is left of the event; absent when nothing is"`
}

// Remove takes an event, or part of a series, off the calendar.
func (s *Store) Remove(ctx context.Context, key string, id int64, how Removal) (Removed, error) {
	return once(ctx, s, "remove", key, func(tx *sql.Tx) (Removed, error) {
		r, err := find(ctx, tx, id)
		if err != nil {
			return Removed{}, err
		}
		if how.Version != 0 && how.Version != r.version {
			return Removed{}, conflict(id, r.version, how.Version)
		}
		gone, err := r.remove(&how)
		if err != nil {
			return Removed{}, err
		}
		if gone {
			if _, err := tx.ExecContext(ctx, "delete from events where id = ?", id); err != nil {
				return Removed{}, fmt.Errorf("remove event %d: %w", id, err)
			}
			return Removed{ID: id, Removed: how.Scope}, nil
		}
		if err := s.save(ctx, tx, r); err != nil {
			return Removed{}, err
		}
		return Removed{ID: id, Removed: how.Scope, Event: new(r.event())}, nil
	})
}

// remove changes the event in memory and reports whether nothing is left of
// it. It fills in the scope of a single event.
func (r *record) remove(how *Removal) (gone bool, err error) {
	single := !r.rule.Repeats()
	switch {
	case single && (how.Scope == "" || how.Scope == ScopeSeries):
		how.Scope = ScopeSeries
		return true, nil
	case single:
		return false, invalid("scope", "%q is for recurring events; leave it out", how.Scope)
	case how.Scope == ScopeSeries:
		return true, nil
	case how.Scope == "":
		return false, scopeRequired(r.id, "is recurring")
	case how.Scope != ScopeOccurrence && how.Scope != ScopeFollowing:
		return false, invalid("scope", "must be occurrence, following or series, not %q", how.Scope)
	case how.Occurrence == "":
		return false, scopeRequired(r.id, "has many occurrences and none was named")
	}
	at, err := r.key(how.Occurrence)
	if err != nil {
		return false, err
	}
	if how.Scope == ScopeOccurrence {
		r.exceptions[at] = exception{cancelled: true}
		return false, nil
	}
	return r.cut(at), nil
}

// cut ends the series before a member; it reports whether nothing is left.
func (r *record) cut(at Wall) (gone bool) {
	if !r.span.Start.Before(at) {
		return true
	}
	r.rule = r.rule.before(at)
	for key := range r.exceptions {
		if !key.Before(at) {
			delete(r.exceptions, key)
		}
	}
	return false
}
