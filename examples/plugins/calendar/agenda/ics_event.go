package agenda

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"
)

// readEvent turns one entry into an event. The problems are those that leave
// the event usable.
func readEvent(e *ics.VEvent, zone *time.Location) (*record, []error, error) {
	if strings.EqualFold(text(e, ics.ComponentPropertyStatus), "CANCELLED") {
		return nil, nil, errors.New("the event is cancelled")
	}
	if e.HasProperty(ics.ComponentPropertyRdate) || e.HasProperty(ics.ComponentPropertyExrule) {
		return nil, nil, errors.New("RDATE and EXRULE are not supported")
	}
	r := &record{uid: strings.TrimSpace(e.Id()), exceptions: map[Wall]exception{}, attendees: []string{}}
	var p problems
	if line(&p, "uid", r.uid, maxPlace) == "" {
		p.add("uid", "is missing")
	}
	start, allDay, own, err := readMoment(e.GetProperty(ics.ComponentPropertyDtStart), zone)
	if err != nil {
		return nil, nil, fmt.Errorf("DTSTART: %w", err)
	}
	r.zone, r.span = own, Span{Start: start, AllDay: allDay}
	if r.span.Duration, err = readDuration(e, r.span, own); err != nil {
		return nil, nil, err
	}
	checkSpan(&p, r.span)
	notes := readTexts(e, r, &p)
	if err := readRule(e, r); err != nil {
		return nil, nil, err
	}
	checkFirst(&p, r)
	return r, notes, p.err()
}

// readTexts fills in what is not about time. Attendees that have no address
// are noted and left out.
func readTexts(e *ics.VEvent, r *record, p *problems) (notes []error) {
	title := strings.Join(strings.Fields(text(e, ics.ComponentPropertySummary)), " ")
	if title == "" {
		title = "(no title)"
	}
	location := strings.Join(strings.Fields(text(e, ics.ComponentPropertyLocation)), " ")
	description := text(e, ics.ComponentPropertyDescription)
	transparent := strings.EqualFold(text(e, ics.ComponentPropertyTransp), string(ics.TransparencyTransparent))
	patch := Patch{Title: &title, Location: &location, Description: &description, Transparent: &transparent, Attendees: []string{}}
	for _, a := range e.GetProperties(ics.ComponentPropertyAttendee) {
		address := strings.ToLower(a.Value)
		if address, ok := strings.CutPrefix(address, "mailto:"); ok && isAddress(address) {
			patch.Attendees = append(patch.Attendees, address)
			continue
		}
		notes = append(notes, fmt.Errorf("attendee %q has no e-mail address and was left out", a.Value))
	}
	patch.retext(p, r)
	return notes
}

// readRule fills in the recurrence and the cancelled members.
func readRule(e *ics.VEvent, r *record) error {
	rules := e.GetProperties(ics.ComponentPropertyRrule)
	if len(rules) > 1 {
		return errors.New("more than one RRULE is not supported")
	}
	for _, property := range rules {
		rule, err := ParseRule(property.Value, r.zone)
		if err != nil {
			return fmt.Errorf("RRULE %w", err)
		}
		r.rule = rule
	}
	for _, property := range e.GetProperties(ics.ComponentPropertyExdate) {
		for value := range strings.SplitSeq(property.Value, ",") {
			one := *property
			one.Value = value
			key, err := readKey(&one, r)
			if err != nil {
				return fmt.Errorf("EXDATE: %w", err)
			}
			if has, err := r.has(key); err != nil {
				return err
			} else if has && r.rule.Repeats() {
				r.exceptions[key] = exception{cancelled: true}
			}
		}
	}
	return nil
}

// readOverride adds a moved or cancelled member to its series.
func readOverride(e *ics.VEvent, r *record, zone *time.Location) error {
	if r == nil || !r.rule.Repeats() {
		return errors.New("there is no series of this UID in the file")
	}
	key, err := readKey(e.GetProperty(ics.ComponentPropertyRecurrenceId), r)
	if err != nil {
		return fmt.Errorf("RECURRENCE-ID: %w", err)
	}
	has, err := r.has(key)
	if err != nil {
		return err
	}
	if !has {
		return fmt.Errorf("the series has no member at %s", key.Key(r.span.AllDay))
	}
	if strings.EqualFold(text(e, ics.ComponentPropertyStatus), "CANCELLED") {
		r.exceptions[key] = exception{cancelled: true}
		return nil
	}
	one, _, err := readEvent(withoutRule(e), zone)
	if err != nil {
		return err
	}
	if one.span.AllDay != r.span.AllDay {
		return errors.New("one member is all-day and the series is not, or the other way round")
	}
	if !one.span.AllDay && one.zone.String() != r.zone.String() {
		at := one.span.Start.At(one.zone)
		if one.span.Start = WallOf(at, r.zone); !one.span.Start.At(r.zone).Equal(at) {
			return fmt.Errorf("it falls into an hour that clocks in %s show twice", r.zone)
		}
	}
	x := exception{span: one.span}
	if one.title != r.title {
		x.title = one.title
	}
	if one.location != r.location {
		x.location = one.location
	}
	r.exceptions[key] = x
	return nil
}

// withoutRule returns a copy of an override that reads as a single event.
func withoutRule(e *ics.VEvent) *ics.VEvent {
	out := *e
	out.Properties = nil
	for _, p := range e.Properties {
		if p.IANAToken != string(ics.ComponentPropertyRrule) && p.IANAToken != string(ics.ComponentPropertyExdate) {
			out.Properties = append(out.Properties, p)
		}
	}
	return &out
}

// readKey reads a moment as an occurrence key of a series.
func readKey(property *ics.IANAProperty, r *record) (Wall, error) {
	w, allDay, zone, err := readMoment(property, r.zone)
	if err != nil {
		return w, err
	}
	if allDay != r.span.AllDay {
		return w, errors.New("it must be a date exactly when the series is all-day")
	}
	if allDay || zone.String() == r.zone.String() {
		return w, nil
	}
	return r.memberAt(w.At(zone))
}

// readMoment reads a date, a local time with its zone, or a time in UTC. A
// local time without a zone belongs to the calendar's own zone.
func readMoment(property *ics.IANAProperty, zone *time.Location) (w Wall, allDay bool, own *time.Location, err error) {
	if property == nil {
		return w, false, nil, errors.New("it is missing")
	}
	value := property.Value
	if names := property.ICalParameters["TZID"]; len(names) == 1 {
		if zone, err = LoadZone(strings.TrimPrefix(names[0], "/")); err != nil {
			return w, false, nil, fmt.Errorf("TZID %w", err)
		}
	}
	if t, err := time.Parse(icsUTC, value); err == nil {
		return Wall{t}, false, time.UTC, nil
	}
	if t, err := time.Parse(icsLocal, value); err == nil {
		return Wall{t}, false, zone, nil
	}
	if t, err := time.Parse(icsDate, value); err == nil {
		return Wall{t}, true, time.UTC, nil
	}
	return w, false, nil, fmt.Errorf("%q is not a date or time", value)
}

// readDuration reads DTEND or DURATION. Without either, an all-day event lasts
// its day and a timed one no time.
func readDuration(e *ics.VEvent, s Span, zone *time.Location) (d time.Duration, err error) {
	end, length := e.GetProperty(ics.ComponentPropertyDtEnd), e.GetProperty(ics.ComponentPropertyDuration)
	switch {
	case end != nil:
		w, allDay, own, err := readMoment(end, zone)
		if err != nil {
			return 0, fmt.Errorf("DTEND: %w", err)
		}
		if allDay != s.AllDay {
			return 0, errors.New("DTEND must be a date exactly when DTSTART is one")
		}
		d = w.At(own).Sub(s.Start.At(zone))
		if allDay {
			d = w.t.Sub(s.Start.t)
		}
	case length != nil:
		if d, err = parseDuration(length.Value); err != nil {
			return 0, err
		}
	case s.AllDay:
		d = 24 * time.Hour
	}
	if s.AllDay && d == 0 {
		d = 24 * time.Hour // written by programs that take the end as included
	}
	if d < 0 || s.AllDay && d%(24*time.Hour) != 0 {
		return 0, errors.New("it ends before it starts, or an all-day event lasts part of a day")
	}
	return d, nil
}

var durationPattern = regexp.MustCompile(`^\+?P(?:(\d{1,3})W|(?:(\d{1,3})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,6})M)?(?:(\d{1,8})S)?)?)$`)

// parseDuration reads an RFC 5545 duration such as P1W, P1DT2H or PT1800S.
func parseDuration(text string) (time.Duration, error) {
	m := durationPattern.FindStringSubmatch(text)
	if m == nil || strings.HasSuffix(text, "P") || strings.HasSuffix(text, "T") {
		return 0, fmt.Errorf("DURATION %q is not a duration", text)
	}
	var total time.Duration
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.Atoi(m[i+1])
		if err != nil {
			return 0, fmt.Errorf("DURATION %q: %w", text, err)
		}
		total += time.Duration(n) * unit
	}
	return total, nil
}

// text returns the value of a property, or "" if the event has no such property.
func text(e *ics.VEvent, name ics.ComponentProperty) string {
	if p := e.GetProperty(name); p != nil {
		return p.Value
	}
	return ""
}
