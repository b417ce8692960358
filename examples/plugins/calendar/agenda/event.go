package agenda

import (
	"fmt"
	"time"
)

// Event is one appointment, or a series when it has a recurrence.
type Event struct {
	ID          int64       `json:"id" jsonschema:"number of the event"`
	UID         string      `json:"uid" jsonschema:"name of the event in iCalendar files"`
	Title       string      `json:"title"`
	Description string      `json:"description,omitempty"`
	Location    string      `json:"location,omitempty"`
	Attendees   []string    `json:"attendees" jsonschema:"e-mail addresses"`
	Start       string      `json:"start" jsonschema:"RFC 3339 with the offset of the time zone, or a date when all-day"`
	End         string      `json:"end" jsonschema:"first moment after the event; for all-day events the day after the last"`
	AllDay      bool        `json:"allDay"`
	TimeZone    string      `json:"timeZone,omitempty" jsonschema:"IANA name; absent when all-day"`
	Recurrence  string      `json:"recurrence,omitempty" jsonschema:"RFC 5545 rule; UNTIL is in local time of the event"`
	Exceptions  []Exception `json:"exceptions,omitempty" jsonschema:"members of the series that were cancelled or moved"`
	Transparent bool        `json:"transparent" jsonschema:"true when the event does not block time"`
	Version     int64       `json:"version" jsonschema:"grows with every change"`
}

// Exception is one member of a series that is not where, or what, the rule
// says.
type Exception struct {
	Occurrence string `json:"occurrence" jsonschema:"key of the member: the local time the rule puts it at"`
	Cancelled  bool   `json:"cancelled,omitempty"`
	Start      string `json:"start,omitempty" jsonschema:"where it was moved to"`
	End        string `json:"end,omitempty"`
	Title      string `json:"title,omitempty" jsonschema:"its own title, when it differs"`
	Location   string `json:"location,omitempty" jsonschema:"its own location, when it differs"`
}

// Occurrence is one appointment as it takes place.
type Occurrence struct {
	ID          int64    `json:"id" jsonschema:"number of the event"`
	Occurrence  string   `json:"occurrence" jsonschema:"names this member of a series, for update and remove"`
	Title       string   `json:"title"`
	Location    string   `json:"location,omitempty"`
	Attendees   []string `json:"attendees"`
	Start       string   `json:"start" jsonschema:"RFC 3339 in the time zone of the range; a date when all-day"`
	End         string   `json:"end" jsonschema:"first moment after it; for all-day events the day after the last"`
	AllDay      bool     `json:"allDay"`
	Recurring   bool     `json:"recurring" jsonschema:"true when it is a member of a series"`
	Moved       bool     `json:"moved,omitempty" jsonschema:"true when it is not where the rule puts it"`
	Transparent bool     `json:"transparent" jsonschema:"true when it does not block time"`
	Version     int64    `json:"version" jsonschema:"version of the event"`

	at Window // when it takes place, seen from the reader's zone
}

// Span is when something happens, on a clock on the wall.
type Span struct {
	Start    Wall
	Duration time.Duration // of an all-day event: whole days
	AllDay   bool
}

// in returns the instants a span covers when it happens in loc. A timed event
// lasts its duration also across a change of the clocks; an all-day event
// covers its dates, however long those are.
func (s Span) in(loc *time.Location) Window {
	from := s.Start.At(loc)
	if s.AllDay {
		return Window{from, s.Start.AddDays(s.days()).At(loc)}
	}
	return Window{from, from.Add(s.Duration)}
}

func (s Span) days() int { return int(s.Duration / (24 * time.Hour)) }

// text writes both ends for people, programs and models.
func (s Span) text(loc *time.Location) (start, end string) {
	if s.AllDay {
		return s.Start.Key(true), s.Start.AddDays(s.days()).Key(true)
	}
	w := s.in(loc)
	return w.From.Format(time.RFC3339), w.To.In(loc).Format(time.RFC3339)
}

// record is an event as it is kept: parsed, checked and complete.
type record struct {
	id                           int64
	uid                          string
	title, description, location string
	attendees                    []string
	span                         Span
	zone                         *time.Location // UTC when all-day, and then without meaning
	rule                         Rule
	exceptions                   map[Wall]exception
	transparent                  bool
	version                      int64
}

// exception is one row of the exceptions of a record.
type exception struct {
	cancelled       bool
	span            Span // when moved
	title, location string
}

func (r *record) event() Event {
	e := Event{
		ID: r.id, UID: r.uid, Title: r.title, Description: r.description, Location: r.location, Attendees: r.attendees,
		AllDay: r.span.AllDay, Recurrence: r.rule.String(), Transparent: r.transparent, Version: r.version,
	}
	e.Start, e.End = r.span.text(r.zone)
	if !r.span.AllDay {
		e.TimeZone = r.zone.String()
	}
	for _, key := range r.exceptionKeys() {
		x := r.exceptions[key]
		out := Exception{Occurrence: key.Key(r.span.AllDay), Cancelled: x.cancelled, Title: x.title, Location: x.location}
		if !x.cancelled {
			out.Start, out.End = x.span.text(r.zone)
		}
		e.Exceptions = append(e.Exceptions, out)
	}
	return e
}

// key reads an occurrence key and checks that the series has such a member. A
// caller that passes the start of an occurrence means the same thing.
func (r *record) key(text string) (Wall, error) {
	w, dateOnly, err := ParseWall(text)
	if err != nil {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return w, invalid("occurrence", "must be the occurrence field of an item that list returned, not %q", text)
		}
		if w, err = r.memberAt(at); err != nil {
			return w, err
		}
		dateOnly = false
	}
	if dateOnly != r.span.AllDay {
		return w, noOccurrence(r.id, text)
	}
	if _, ok := r.exceptions[w]; ok {
		return w, nil
	}
	has, err := r.has(w)
	if err != nil {
		return w, err
	}
	if !has {
		return w, noOccurrence(r.id, text)
	}
	return w, nil
}

// memberAt returns the key of the member that the rule puts at an instant. It
// is not always what clocks show then: a member in a skipped hour keeps its
// own key. Without such a member it is what clocks show.
func (r *record) memberAt(at time.Time) (Wall, error) {
	shown := WallOf(at, r.zone)
	near, err := r.rule.walls(r.span.Start, shown.AddDays(-1), shown.AddDays(1))
	if err != nil {
		return shown, fmt.Errorf("event %d: %w", r.id, err)
	}
	for _, w := range near {
		if w.At(r.zone).Equal(at) {
			return w, nil
		}
	}
	return shown, nil
}

// has reports whether the rule has a member at exactly w.
func (r *record) has(w Wall) (bool, error) {
	members, err := r.rule.walls(r.span.Start, w, Wall{w.t.Add(time.Second)})
	if err != nil {
		return false, fmt.Errorf("event %d: %w", r.id, err)
	}
	return len(members) == 1, nil
}
