package agenda

import (
	"cmp"
	"slices"
	"time"
)

// Event is one appointment, or a series when it has a recurrence.
type Event struct {
	ID         int64    `json:"id" jsonschema:"number of the event"`
	Title      string   `json:"title"`
	Location   string   `json:"location,omitempty"`
	Start      string   `json:"start" jsonschema:"RFC 3339 with the offset of the time zone"`
	End        string   `json:"end" jsonschema:"first moment after the event"`
	TimeZone   string   `json:"timeZone" jsonschema:"IANA name"`
	Recurrence string   `json:"recurrence,omitempty" jsonschema:"RFC 5545 rule"`
	Cancelled  []string `json:"cancelled,omitempty" jsonschema:"starts of the members of the series that were cancelled"`
	Version    int64    `json:"version" jsonschema:"grows with every change"`
}

// Occurrence is one appointment as it takes place.
type Occurrence struct {
	ID        int64  `json:"id" jsonschema:"number of the event"`
	Title     string `json:"title"`
	Location  string `json:"location,omitempty"`
	Start     string `json:"start" jsonschema:"RFC 3339 in the time zone of the range; names this member of a series, for remove"`
	End       string `json:"end" jsonschema:"first moment after it"`
	Recurring bool   `json:"recurring" jsonschema:"true when it is a member of a series"`

	at window
}

// window is a stretch of time: from included, to not.
type window struct{ from, to time.Time }

// overlaps reports whether the windows share an instant.
func (w window) overlaps(v window) bool { return v.from.Before(w.to) && v.to.After(w.from) }

// record is an event as it is kept: parsed, checked and complete.
type record struct {
	id              int64
	title, location string
	start           time.Time // in its zone
	days            int       // how long it lasts, if it is whole days; else length counts
	length          time.Duration
	rule            rule
	cancelled       []int64 // starts of members, in seconds since 1970
	version         int64
}

// from is when the event takes place that starts at a time.
func (r *record) from(start time.Time) window {
	if r.days > 0 {
		return window{start, start.AddDate(0, 0, r.days)}
	}
	return window{start, start.Add(r.length)}
}

func (r *record) event() Event {
	e := Event{
		ID: r.id, Title: r.title, Location: r.location, Start: r.start.Format(time.RFC3339), End: r.from(r.start).to.Format(time.RFC3339),
		TimeZone: r.start.Location().String(), Recurrence: r.rule.text, Version: r.version,
	}
	for _, start := range r.cancelled {
		e.Cancelled = append(e.Cancelled, time.Unix(start, 0).In(r.start.Location()).Format(time.RFC3339))
	}
	return e
}

// during returns the occurrences that share time with a window, in order, as seen from loc.
func (r *record) during(w window, loc *time.Location) ([]Occurrence, error) {
	starts, err := r.rule.between(r.start, w.from.Add(-maxDuration), w.to)
	if err != nil {
		return nil, err
	}
	var out []Occurrence
	for _, start := range starts {
		at := r.from(start)
		if !w.overlaps(at) || slices.Contains(r.cancelled, start.Unix()) {
			continue
		}
		out = append(out, Occurrence{
			ID: r.id, Title: r.title, Location: r.location, Recurring: r.rule.repeats(), at: at,
			Start: at.from.In(loc).Format(time.RFC3339), End: at.to.In(loc).Format(time.RFC3339),
		})
	}
	return out, nil
}

// during joins the occurrences of many events.
func during(events []*record, w window, loc *time.Location) ([]Occurrence, error) {
	out := []Occurrence{}
	for _, e := range events {
		more, err := e.during(w, loc)
		if err != nil {
			return nil, err
		}
		if out = append(out, more...); len(out) > maxOccurrences {
			return nil, tooMuch(maxOccurrences)
		}
	}
	slices.SortFunc(out, func(a, b Occurrence) int {
		return cmp.Or(a.at.from.Compare(b.at.from), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}
