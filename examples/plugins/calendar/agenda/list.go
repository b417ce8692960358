package agenda

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"
)

// maxRangeDays is how long a range may be.
const maxRangeDays = 731

// Range is a stretch of time as callers write it.
type Range struct {
	From     string `json:"from" jsonschema:"start of the range, included: a local time such as 2026-03-02T09:00, RFC 3339 with an offset, or a date, which means its midnight"`
	To       string `json:"to" jsonschema:"end of the range, not included, written like from; at most two years after it"`
	TimeZone string `json:"timeZone,omitempty" jsonschema:"IANA name such as Europe/Berlin in which the range is read and times are answered; default is the calendar's own zone"`
}

// Query selects occurrences.
type Query struct {
	Range
	Text string `json:"text,omitempty" jsonschema:"only events whose title or location contains this; case does not matter"`
}

// Page is what takes place in a range, in order of its start.
type Page struct {
	Items []Occurrence `json:"items"`
}

// check reads a range in the calendar's zone, or its own.
func (r Range) check(zone *time.Location) (window, *time.Location, error) {
	var p problems
	if r.TimeZone != "" {
		loc, err := LoadZone(r.TimeZone)
		if err != nil {
			p.add("timeZone", "%v", err)
			return window{}, nil, p.err()
		}
		zone = loc
	}
	var w window
	w.from, _ = parseTime(&p, "from", r.From, zone)
	w.to, _ = parseTime(&p, "to", r.To, zone)
	switch {
	case len(p) > 0:
	case !w.from.Before(w.to):
		p.add("to", "must be after from")
	case w.to.Sub(w.from) > maxRangeDays*24*time.Hour:
		p.add("to", "must be at most two years after from")
	}
	return w, zone, p.err()
}

// List returns what takes place in a range, recurring events expanded.
func (s *Store) List(ctx context.Context, q Query) (Page, error) {
	w, loc, err := q.Range.check(s.zone)
	if err != nil {
		return Page{}, err
	}
	found, err := s.during(ctx, w, loc)
	text := strings.ToLower(q.Text)
	return Page{Items: slices.DeleteFunc(found, func(o Occurrence) bool {
		return !strings.Contains(strings.ToLower(o.Title+"\n"+o.Location), text)
	})}, err
}

// FreeBusy says what is taken and what is free in a range.
func (s *Store) FreeBusy(ctx context.Context, r Range, o FreeBusyOptions) (FreeBusy, error) {
	w, loc, err := r.check(s.zone)
	if err != nil {
		return FreeBusy{}, err
	}
	found, err := s.during(ctx, w, loc)
	if err != nil {
		return FreeBusy{}, err
	}
	return o.answer(found, w, loc)
}

// during returns all occurrences that share time with w.
func (s *Store) during(ctx context.Context, w window, loc *time.Location) (found []Occurrence, err error) {
	err = s.db.Read(ctx, func(tx *sql.Tx) error {
		events, err := candidates(ctx, tx, w)
		if err != nil {
			return err
		}
		found, err = during(events, w, loc)
		return err
	})
	return found, err
}
