package agenda

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits of a range and of a page.
const (
	maxRangeDays = 731
	defaultLimit = 100
	maxLimit     = 500
)

// Range is a stretch of time as callers write it.
type Range struct {
	From     string `json:"from" jsonschema:"start of the range, included: a local time such as 2026-03-02T09:00, RFC 3339 with an offset, or a date, which means its midnight"`
	To       string `json:"to" jsonschema:"end of the range, not included, written like from; at most two years after it"`
	TimeZone string `json:"timeZone,omitempty" jsonschema:"IANA name such as Europe/Berlin in which the range is read and times are answered; default is the calendar's own zone"`
}

// Query selects occurrences.
type Query struct {
	Range
	Text     string `json:"text,omitempty" jsonschema:"only events whose title or location contains this; case does not matter"`
	Attendee string `json:"attendee,omitempty" jsonschema:"only events of this e-mail address, and events that are for everybody"`
	Limit    int    `json:"limit,omitempty" min:"1" max:"500" jsonschema:"items per page, 1 to 500, default 100"`
	Cursor   string `json:"cursor,omitempty" jsonschema:"nextCursor of the previous page, with the same range; leave out for the first page"`
}

// Page is one page of occurrences in order of their start.
type Page struct {
	Items      []Occurrence `json:"items"`
	NextCursor string       `json:"nextCursor,omitempty" jsonschema:"pass as cursor to get the next page; absent on the last one"`
	Total      int          `json:"total" jsonschema:"how many occurrences match, on all pages together"`
}

// check reads a range in the calendar's zone, or its own.
func (r Range) check(zone *time.Location) (Window, *time.Location, error) {
	var p problems
	if r.TimeZone != "" {
		loc, err := LoadZone(r.TimeZone)
		if err != nil {
			p.add("timeZone", "%v", err)
			return Window{}, nil, p.err()
		}
		zone = loc
	}
	w := Window{parseInstant(&p, "from", r.From, zone), parseInstant(&p, "to", r.To, zone)}
	switch {
	case len(p) > 0:
	case !w.From.Before(w.To):
		p.add("to", "must be after from")
	case w.To.Sub(w.From) > maxRangeDays*24*time.Hour:
		p.add("to", "must be at most two years after from")
	case w.From.Year() < 1900 || w.To.Year() > 2200:
		p.add("from", "must be in the years 1900 to 2200")
	}
	return w, zone, p.err()
}

// parseInstant reads one end of a range.
func parseInstant(p *problems, field, text string, loc *time.Location) time.Time {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at
	}
	w, _, err := parseMoment(text, loc)
	if err != nil {
		p.add(field, "%v", err)
	}
	return w.At(loc)
}

// List returns one page of what happens in a range, recurring events expanded.
func (s *Store) List(ctx context.Context, q Query) (Page, error) {
	w, loc, err := q.Range.check(s.zone)
	if err != nil {
		return Page{}, err
	}
	if q.Limit == 0 {
		q.Limit = defaultLimit
	}
	if q.Limit < 1 || q.Limit > maxLimit {
		return Page{}, invalid("limit", "must be from 1 to %d", maxLimit)
	}
	after, err := q.place()
	if err != nil {
		return Page{}, err
	}
	found, err := s.during(ctx, w, loc)
	if err != nil {
		return Page{}, err
	}
	found = slices.DeleteFunc(found, func(o Occurrence) bool { return !q.matches(o) })
	page := Page{Items: found, Total: len(found)}
	if after != nil {
		page.Items = slices.DeleteFunc(slices.Clone(found), func(o Occurrence) bool { return order(o, *after) <= 0 })
	}
	if len(page.Items) > q.Limit {
		page.Items = page.Items[:q.Limit]
		page.NextCursor, err = q.cursor(page.Items[q.Limit-1])
	}
	return page, err
}

// during returns all occurrences that share time with w.
func (s *Store) during(ctx context.Context, w Window, loc *time.Location) (found []Occurrence, err error) {
	err = s.db.Read(ctx, func(tx *sql.Tx) error {
		events, err := candidates(ctx, tx, w)
		if err != nil {
			return err
		}
		found, err = expand(events, w, loc)
		return err
	})
	return found, err
}

func (q Query) matches(o Occurrence) bool {
	if text := strings.ToLower(q.Text); text != "" && !strings.Contains(strings.ToLower(o.Title+"\n"+o.Location), text) {
		return false
	}
	who := strings.ToLower(strings.TrimSpace(q.Attendee))
	return who == "" || len(o.Attendees) == 0 || slices.Contains(o.Attendees, who)
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

// place is where a page ended.
type place struct {
	Query string `json:"q"`
	Start int64  `json:"s"` // seconds since 1970
	ID    int64  `json:"i"`
	Key   string `json:"k"`
}

// digest names the query: a cursor of another one is refused. The page size
// may change between pages.
func (q Query) digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{q.From, q.To, q.TimeZone, q.Text, q.Attendee}))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

func (q Query) cursor(last Occurrence) (string, error) {
	text, err := json.Marshal(place{q.digest(), last.at.From.Unix(), last.ID, last.Occurrence})
	if err != nil {
		return "", fmt.Errorf("write a cursor: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(text), nil
}

// place reads the cursor; nil means the first page.
func (q Query) place() (*Occurrence, error) {
	if q.Cursor == "" {
		return nil, nil
	}
	var p place
	text, err := base64.RawURLEncoding.DecodeString(q.Cursor)
	if err != nil || json.Unmarshal(text, &p) != nil || p.Query != q.digest() {
		return nil, &Error{Code: CodeInvalidCursor, Message: "The cursor is damaged or belongs to another range. Pass nextCursor of the previous page unchanged, with the same range, or leave it out to start again."}
	}
	return &Occurrence{ID: p.ID, Occurrence: p.Key, at: Window{From: time.Unix(p.Start, 0)}}, nil
}
