package agenda

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zone data travels with the program
)

// Layouts of occurrence keys.
const (
	dateLayout = "2006-01-02"
	wallLayout = "2006-01-02T15:04:05"
)

// Wall is what a clock on a wall shows: a date and a time of day, in no zone.
// Walls that name the same moment of the same day are equal with ==.
type Wall struct {
	t time.Time // the same digits in UTC, whole seconds
}

// WallOf returns what a clock in loc shows at an instant.
func WallOf(at time.Time, loc *time.Location) Wall {
	l := at.In(loc)
	return Wall{time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), l.Second(), 0, time.UTC)}
}

// ParseWall reads "2026-03-02T09:00:00", the same without seconds, or a date,
// for which dateOnly is true and the time is midnight.
func ParseWall(text string) (w Wall, dateOnly bool, err error) {
	for _, layout := range []string{wallLayout, "2006-01-02T15:04", dateLayout} {
		if t, err := time.Parse(layout, text); err == nil {
			return Wall{t.Truncate(time.Second)}, layout == dateLayout, nil
		}
	}
	return Wall{}, false, fmt.Errorf("%q is neither a date nor a local date and time", text)
}

// At returns the instant at which a clock in loc first shows w. If no clock
// ever does, because the zone skips that time, it is read with the offset that
// held before the gap.
func (w Wall) At(loc *time.Location) time.Time {
	near := time.Date(w.t.Year(), w.t.Month(), w.t.Day(), w.t.Hour(), w.t.Minute(), w.t.Second(), 0, loc)
	start, end := near.ZoneBounds()
	before := near // instants just before and after the period near lies in
	if !start.IsZero() {
		before = start.Add(-time.Second)
	}
	after := near
	if !end.IsZero() {
		after = end
	}
	var first time.Time
	for _, period := range []time.Time{before, near, after} {
		at := w.with(period)
		if WallOf(at, loc) == w && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() {
		return first.In(loc)
	}
	// In a gap: at the end of the period, or else at its start.
	if at := w.with(near); !end.IsZero() && !at.Before(end) {
		return at.In(loc)
	}
	return w.with(before).In(loc)
}

// with reads w with the offset that holds at an instant.
func (w Wall) with(at time.Time) time.Time {
	_, seconds := at.Zone()
	return w.t.Add(-time.Duration(seconds) * time.Second)
}

// Date returns midnight of w's date.
func (w Wall) Date() Wall { return Wall{w.t.Truncate(24 * time.Hour)} }

// AddDays moves w by whole days of the calendar.
func (w Wall) AddDays(n int) Wall { return Wall{w.t.AddDate(0, 0, n)} }

// Before reports whether w shows an earlier date and time than v.
func (w Wall) Before(v Wall) bool { return w.t.Before(v.t) }

// Key writes w as an occurrence key.
func (w Wall) Key(allDay bool) string {
	if allDay {
		return w.t.Format(dateLayout)
	}
	return w.t.Format(wallLayout)
}

// LoadZone finds an IANA time zone such as Europe/Berlin, or UTC.
func LoadZone(name string) (*time.Location, error) {
	if name == "" || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("must be an IANA name such as Europe/Berlin, or UTC")
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("is not a known IANA time zone: %q (use a name such as Europe/Berlin)", name)
	}
	return loc, nil
}

// Window is a stretch of time: From included, To not.
type Window struct{ From, To time.Time }

// overlaps reports whether [start, end) shares an instant with w; an event
// without duration counts at its start.
func (w Window) overlaps(start, end time.Time) bool {
	if start.Equal(end) {
		return w.holds(start)
	}
	return start.Before(w.To) && end.After(w.From)
}

func (w Window) holds(at time.Time) bool { return !at.Before(w.From) && at.Before(w.To) }
