package agenda

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of one event.
const (
	maxTitle     = 200    // characters
	maxPlace     = 300    // characters
	maxText      = 20_000 // characters of a description
	maxAttendees = 100
	maxDuration  = 366 * 24 * time.Hour
)

// Draft is what a new event is made of.
type Draft struct {
	Title           string   `json:"title" jsonschema:"one line, at most 200 characters"`
	Start           string   `json:"start" jsonschema:"local time such as 2026-03-02T09:00, read in timeZone; or RFC 3339 with an offset; or a date such as 2026-03-02 for an all-day event"`
	End             string   `json:"end,omitempty" jsonschema:"first moment after the event, written like start; for all-day events the day after the last. Give end or durationMinutes; an all-day event without either lasts one day"`
	DurationMinutes int      `json:"durationMinutes,omitempty" min:"1" jsonschema:"length of a timed event in minutes, instead of end"`
	TimeZone        string   `json:"timeZone,omitempty" jsonschema:"IANA name such as Europe/Berlin; a recurring event keeps its local time there through changes of the clocks; default is the calendar's own zone"`
	Recurrence      string   `json:"recurrence,omitempty" jsonschema:"RFC 5545 rule such as FREQ=WEEKLY;BYDAY=MO,WE;COUNT=10, daily at most; start must be its first member"`
	Description     string   `json:"description,omitempty" jsonschema:"free text"`
	Location        string   `json:"location,omitempty" jsonschema:"where it takes place, one line"`
	Attendees       []string `json:"attendees,omitempty" jsonschema:"e-mail addresses of who takes part; leave out for everybody"`
	Transparent     bool     `json:"transparent,omitempty" jsonschema:"true when the event does not block time"`
	OnlyIfFree      bool     `json:"onlyIfFree,omitempty" jsonschema:"refuse with code conflict when the time is taken, for these attendees or, without attendees, for anybody; not for recurring events"`
}

// Patch is an edit: fields that are left out stay as they are.
type Patch struct {
	Version         int64    `json:"version,omitempty" jsonschema:"the version you read; when given, the update fails with code conflict if the event has changed since"`
	Occurrence      string   `json:"occurrence,omitempty" jsonschema:"change only this member of a series (occurrence field of an item of list); only start, end, durationMinutes, title and location can differ in one member"`
	Title           *string  `json:"title,omitempty" jsonschema:"new title"`
	Start           *string  `json:"start,omitempty" jsonschema:"new start; without end or durationMinutes the length stays"`
	End             *string  `json:"end,omitempty" jsonschema:"new end"`
	DurationMinutes *int     `json:"durationMinutes,omitempty" min:"1" jsonschema:"new length, instead of end"`
	TimeZone        *string  `json:"timeZone,omitempty" jsonschema:"new time zone; the local time stays unless start is given too"`
	Recurrence      *string  `json:"recurrence,omitempty" jsonschema:"new rule; an empty string makes it a single event. Exceptions that no longer belong to the series are dropped"`
	Description     *string  `json:"description,omitempty" jsonschema:"new description"`
	Location        *string  `json:"location,omitempty" jsonschema:"new location"`
	Attendees       []string `json:"attendees,omitzero" jsonschema:"replaces all attendees"`
	Transparent     *bool    `json:"transparent,omitempty" jsonschema:"true when the event does not block time"`
}

// record turns a draft into an event, with zone as the calendar's own zone.
func (d Draft) record(zone *time.Location) (*record, error) {
	r := &record{span: Span{Duration: -1}, zone: zone, attendees: []string{}}
	patch := Patch{
		Title: &d.Title, Start: &d.Start, Description: &d.Description, Location: &d.Location,
		Attendees: d.Attendees, Transparent: &d.Transparent, Recurrence: &d.Recurrence,
	}
	if d.TimeZone != "" {
		patch.TimeZone = &d.TimeZone
	}
	if d.End != "" {
		patch.End = &d.End
	}
	if d.DurationMinutes != 0 {
		patch.DurationMinutes = &d.DurationMinutes
	}
	var p problems
	if d.OnlyIfFree && d.Recurrence != "" {
		p.add("onlyIfFree", "cannot be asked for a recurring event; ask freeBusy instead")
	}
	return r, patch.apply(r, p)
}

// apply changes the whole event in memory; p may hold problems found before.
func (patch Patch) apply(r *record, p problems) error {
	if patch.TimeZone != nil {
		loc, err := LoadZone(*patch.TimeZone)
		if err != nil {
			p.add("timeZone", "%v", err)
			return p.err() // no other time can be read
		}
		r.zone = loc
	}
	patch.retime(&p, &r.span, r.zone)
	patch.retext(&p, r)
	if patch.Recurrence != nil {
		rule, err := ParseRule(*patch.Recurrence, r.zone)
		if err != nil {
			p.add("recurrence", "%v", err)
		}
		r.rule = rule
	}
	if len(p) == 0 {
		checkFirst(&p, r)
	}
	return p.err()
}

// checkFirst makes sure that a series starts where its rule starts: everything
// else counts members in surprising ways.
func checkFirst(p *problems, r *record) {
	if !r.rule.Repeats() {
		return
	}
	first, ok := r.rule.first(r.span.Start)
	switch {
	case !ok:
		p.add("recurrence", "has no member at or after start")
	case first != r.span.Start:
		p.add("start", "is not a member of the recurrence; the first one after it is %s", first.Key(r.span.AllDay))
	}
}

// retime applies the fields that say when.
func (patch Patch) retime(p *problems, s *Span, loc *time.Location) {
	if patch.Start != nil {
		start, allDay, err := parseMoment(*patch.Start, loc)
		if err != nil {
			p.add("start", "%v", err)
			return
		}
		if allDay != s.AllDay && s.Duration >= 0 && patch.End == nil && patch.DurationMinutes == nil {
			s.Duration = -1 // the old length means nothing any more
		}
		s.Start, s.AllDay = start, allDay
	}
	switch {
	case patch.End != nil && patch.DurationMinutes != nil:
		p.add("end", "cannot be combined with durationMinutes")
	case patch.End != nil:
		patch.until(p, s, loc)
	case patch.DurationMinutes != nil && s.AllDay:
		p.add("durationMinutes", "is for timed events; give end, the day after the last")
	case patch.DurationMinutes != nil:
		s.Duration = time.Duration(*patch.DurationMinutes) * time.Minute
		if s.Duration <= 0 {
			p.add("durationMinutes", "must be at least 1")
		}
	case s.Duration < 0 && s.AllDay:
		s.Duration = 24 * time.Hour
	case s.Duration < 0:
		p.add("end", "is missing; give end or durationMinutes")
	}
	checkSpan(p, *s)
}

// until sets the duration by the end: in real time between two instants, or in
// days of the calendar.
func (patch Patch) until(p *problems, s *Span, loc *time.Location) {
	end, allDay, err := parseMoment(*patch.End, loc)
	switch {
	case err != nil:
		p.add("end", "%v", err)
		return
	case allDay != s.AllDay:
		p.add("end", "must be a date exactly when start is one")
		return
	case s.AllDay:
		s.Duration = end.t.Sub(s.Start.t)
	default:
		s.Duration = end.At(loc).Sub(s.Start.At(loc))
	}
	if s.Duration <= 0 {
		p.add("end", "must be after start")
		s.Duration = 0
	}
}

func checkSpan(p *problems, s Span) {
	if s.Duration > maxDuration {
		p.add("end", "is more than 366 days after start")
	}
	if year := s.Start.t.Year(); year < 1900 || year > 2200 {
		p.add("start", "must be in the years 1900 to 2200")
	}
}

// parseMoment reads a date, a local time of loc, or an instant. An instant in
// the second pass of an hour that comes twice has no local time of its own.
func parseMoment(text string, loc *time.Location) (w Wall, allDay bool, err error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		at = at.Truncate(time.Second)
		w = WallOf(at, loc)
		if !w.At(loc).Equal(at) {
			return w, false, fmt.Errorf("falls into an hour that clocks in %s show twice; give the event timeZone UTC", loc)
		}
		return w, false, nil
	}
	w, allDay, err = ParseWall(text)
	if err != nil {
		return w, false, fmt.Errorf("must look like 2026-03-02T09:00, 2026-03-02T09:00:00+01:00 or 2026-03-02, not like %q", text)
	}
	return w, allDay, nil
}

// retext applies the fields that say what, where and who.
func (patch Patch) retext(p *problems, r *record) {
	if patch.Title != nil {
		r.title = line(p, "title", *patch.Title, maxTitle)
		if r.title == "" {
			p.add("title", "must not be empty")
		}
	}
	if patch.Location != nil {
		r.location = line(p, "location", *patch.Location, maxPlace)
	}
	if patch.Description != nil {
		r.description = strings.ReplaceAll(*patch.Description, "\r\n", "\n")
		bad := func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }
		if utf8.RuneCountInString(r.description) > maxText || strings.ContainsFunc(r.description, bad) {
			p.add("description", "must be text of at most %d characters", maxText)
		}
	}
	if patch.Transparent != nil {
		r.transparent = *patch.Transparent
	}
	if patch.Attendees != nil {
		r.attendees = attendees(p, patch.Attendees)
	}
}

func line(p *problems, field, text string, limit int) string {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) > limit || strings.ContainsFunc(text, unicode.IsControl) {
		p.add(field, "must be one line of at most %d characters", limit)
	}
	return text
}

// attendees returns the addresses folded, sorted and without repetitions.
func attendees(p *problems, list []string) []string {
	out := make([]string, 0, len(list))
	for _, address := range list {
		address = strings.ToLower(strings.TrimSpace(address))
		if !isAddress(address) {
			p.add("attendees", "must be e-mail addresses, not %q", address)
			return out
		}
		out = append(out, address)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > maxAttendees {
		p.add("attendees", "must hold at most %d addresses", maxAttendees)
	}
	return out
}

func isAddress(s string) bool {
	name, host, ok := strings.Cut(s, "@")
	return ok && name != "" && host != "" && len(s) <= 254 && !strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || strings.ContainsRune(`<>,;:"\`, c)
	})
}

// exception applies a patch to one member of the series.
func (patch Patch) exception(r *record, key Wall) (exception, error) {
	x, ok := r.exceptions[key]
	if !ok || x.cancelled {
		x = exception{span: Span{key, r.span.Duration, r.span.AllDay}}
	}
	var p problems
	if patch.TimeZone != nil || patch.Recurrence != nil || patch.Description != nil || patch.Attendees != nil || patch.Transparent != nil {
		p.add("occurrence", "allows only start, end, durationMinutes, title and location; the rest belongs to the whole series")
	}
	patch.retime(&p, &x.span, r.zone)
	if x.span.AllDay != r.span.AllDay {
		p.add("start", "of one member must be a date exactly when the series is all-day")
	}
	if patch.Title != nil {
		x.title = line(&p, "title", *patch.Title, maxTitle)
	}
	if patch.Location != nil {
		x.location = line(&p, "location", *patch.Location, maxPlace)
	}
	return x, p.err()
}
