package agenda

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"
)

// Layouts of iCalendar.
const (
	icsDate  = "20060102"
	icsLocal = "20060102T150405"
	icsUTC   = "20060102T150405Z"
)

// maxEvents is how many events one iCalendar file may hold, in or out.
const maxEvents = 2_000

// Exported is a calendar as an iCalendar file.
type Exported struct {
	ICS    string `json:"ics" jsonschema:"the file, RFC 5545"`
	Events int    `json:"events" jsonschema:"how many events and series it holds"`
}

// Export writes the events with these ids, or all of them when ids is empty,
// with their rules, exceptions and time zones.
func (s *Store) Export(ctx context.Context, ids []int64) (Exported, error) {
	var events []*record
	err := s.db.Read(ctx, func(tx *sql.Tx) (err error) {
		if len(ids) == 0 {
			events, err = load(ctx, tx, "true")
			return err
		}
		for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
			r, err := find(ctx, tx, id)
			if err != nil {
				return err
			}
			events = append(events, r)
		}
		return nil
	})
	if err != nil {
		return Exported{}, err
	}
	if len(events) > maxEvents {
		return Exported{}, &Error{Code: CodeTooMuch, Message: fmt.Sprintf("The calendar holds more than %d events. Give the ids of those to export.", maxEvents)}
	}
	return Exported{ICS: writeICS(events, s.now()), Events: len(events)}, nil
}

// writeICS is the file that holds the events, stamped with one moment.
func writeICS(events []*record, now time.Time) string {
	cal := ics.NewCalendarFor("Quoin calendar example")
	since := map[string]time.Time{} // zone to the earliest start in it
	zones := map[string]*time.Location{}
	for _, r := range events {
		if name := r.zone.String(); !r.span.AllDay && r.zone != time.UTC && name != "UTC" {
			zones[name] = r.zone
			if first, ok := since[name]; !ok || r.span.Start.t.Before(first) {
				since[name] = r.span.Start.t
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		cal.Components = append(cal.Components, timezone(zones[name], since[name], now))
	}
	for _, r := range events {
		addSeries(cal, r, now)
	}
	return cal.Serialize(ics.WithNewLine("\r\n"))
}

// addSeries writes an event and each moved member of it.
func addSeries(cal *ics.Calendar, r *record, now time.Time) {
	e := addEvent(cal, r, r.span, r.title, r.location, now)
	if r.rule.Repeats() {
		e.AddProperty(ics.ComponentPropertyRrule, r.rule.ics(r))
	}
	for _, key := range r.exceptionKeys() {
		if x := r.exceptions[key]; x.cancelled {
			value, params := moment(key, r.span.AllDay, r.zone)
			e.AddProperty(ics.ComponentPropertyExdate, value, params...)
		}
	}
	for _, key := range r.exceptionKeys() {
		x := r.exceptions[key]
		if x.cancelled {
			continue
		}
		one := addEvent(cal, r, x.span, or(x.title, r.title), or(x.location, r.location), now)
		value, params := moment(key, r.span.AllDay, r.zone)
		one.AddProperty(ics.ComponentPropertyRecurrenceId, value, params...)
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// addEvent writes what an event and a moved member of it have in common.
func addEvent(cal *ics.Calendar, r *record, s Span, title, location string, now time.Time) *ics.VEvent {
	e := cal.AddEvent(r.uid)
	e.SetDtStampTime(now.UTC())
	e.SetSummary(title)
	if location != "" {
		e.SetLocation(location)
	}
	if r.description != "" {
		e.SetDescription(r.description)
	}
	if r.transparent {
		e.SetTimeTransparency(ics.TransparencyTransparent)
	}
	for _, a := range r.attendees {
		e.AddAttendee(a)
	}
	value, params := moment(s.Start, s.AllDay, r.zone)
	e.AddProperty(ics.ComponentPropertyDtStart, value, params...)
	if s.AllDay {
		value, params = moment(s.Start.AddDays(s.days()), true, r.zone)
		e.AddProperty(ics.ComponentPropertyDtEnd, value, params...)
		return e
	}
	// A duration, not an end: an end in an hour that comes twice is ambiguous.
	e.AddProperty(ics.ComponentPropertyDuration, fmt.Sprintf("PT%dS", int64(s.Duration/time.Second)))
	return e
}

// moment writes a wall-clock time with what says how to read it.
func moment(w Wall, allDay bool, zone *time.Location) (string, []ics.PropertyParameter) {
	switch {
	case allDay:
		return w.t.Format(icsDate), []ics.PropertyParameter{ics.WithValue("DATE")}
	case zone.String() == "UTC":
		return w.t.Format(icsUTC), nil
	}
	return w.t.Format(icsLocal), []ics.PropertyParameter{ics.WithTZID(zone.String())}
}

// ics writes the rule as RFC 5545 wants it: UNTIL in UTC, or a date for
// all-day events.
func (rule Rule) ics(r *record) string {
	until := rule.option.Until
	if until.IsZero() {
		return rule.text
	}
	value := until.Format(icsDate)
	if !r.span.AllDay {
		value = (Wall{until}).At(r.zone).UTC().Format(icsUTC)
	}
	return strings.TrimSuffix(rule.text, until.Format(icsLocal)) + value
}
