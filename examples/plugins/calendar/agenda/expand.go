package agenda

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// clockSlack is more than any two zones, or two offsets of one, are apart.
const clockSlack = 27 * time.Hour

// exceptionKeys returns the keys of the exceptions in order of time.
func (r *record) exceptionKeys() []Wall {
	return slices.SortedFunc(maps.Keys(r.exceptions), func(a, b Wall) int { return a.t.Compare(b.t) })
}

// overlapping returns the occurrences that share time with the window, in
// order, as seen from loc.
func (r *record) overlapping(w Window, loc *time.Location) ([]Occurrence, error) {
	return r.within(w, loc, func(at Window) bool { return w.overlaps(at.From, at.To) })
}

// starting returns the occurrences that start in the window, in order.
// Windows that meet give, joined together, what one window over all of them
// gives.
func (r *record) starting(w Window, loc *time.Location) ([]Occurrence, error) {
	return r.within(w, loc, func(at Window) bool { return w.holds(at.From) })
}

// within expands the rule over slightly more than the window, puts exceptions
// in place and keeps what the reader asked for.
func (r *record) within(w Window, loc *time.Location, keep func(Window) bool) ([]Occurrence, error) {
	from := Wall{w.From.UTC().Truncate(time.Second).Add(-clockSlack - r.span.Duration)}
	to := Wall{w.To.UTC().Truncate(time.Second).Add(clockSlack)}
	members, err := r.rule.walls(r.span.Start, from, to)
	if err != nil {
		return nil, err
	}
	var out []Occurrence
	add := func(key Wall, x exception) {
		at := x.span.in(r.zoneSeenFrom(loc))
		if keep(at) {
			out = append(out, r.occurrence(key, x, at, loc))
		}
	}
	for _, key := range members {
		if _, special := r.exceptions[key]; !special {
			add(key, exception{span: Span{key, r.span.Duration, r.span.AllDay}})
		}
	}
	for key, x := range r.exceptions {
		if !x.cancelled {
			add(key, x)
		}
	}
	slices.SortFunc(out, order)
	return out, nil
}

// zoneSeenFrom returns the zone in which the event's walls are read: its own,
// or the reader's when it is all-day.
func (r *record) zoneSeenFrom(loc *time.Location) *time.Location {
	if r.span.AllDay {
		return loc
	}
	return r.zone
}

func (r *record) occurrence(key Wall, x exception, at Window, loc *time.Location) Occurrence {
	o := Occurrence{
		ID: r.id, Occurrence: key.Key(r.span.AllDay), Title: cmp.Or(x.title, r.title), Location: cmp.Or(x.location, r.location),
		Attendees: r.attendees, AllDay: x.span.AllDay, Recurring: r.rule.Repeats(), Transparent: r.transparent, Version: r.version, at: at,
	}
	o.Moved = x.span != Span{key, r.span.Duration, r.span.AllDay}
	if o.AllDay {
		o.Start, o.End = x.span.text(loc)
	} else {
		o.Start, o.End = at.From.In(loc).Format(time.RFC3339), at.To.In(loc).Format(time.RFC3339)
	}
	return o
}

// order sorts by start, then event, then key.
func order(a, b Occurrence) int {
	return cmp.Or(a.at.From.Compare(b.at.From), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Occurrence, b.Occurrence))
}

// expand joins the occurrences of many events that share time with the window.
func expand(events []*record, w Window, loc *time.Location) ([]Occurrence, error) {
	out := []Occurrence{}
	for _, e := range events {
		more, err := e.overlapping(w, loc)
		if err != nil {
			return nil, err
		}
		if out = append(out, more...); len(out) > maxOccurrences {
			return nil, tooMuch(maxOccurrences)
		}
	}
	slices.SortFunc(out, order)
	return out, nil
}
