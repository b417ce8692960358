package agenda

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zone data travels with the program
	"unicode"
	"unicode/utf8"
)

// Limits of one event.
const (
	maxTitle    = 200 // characters
	maxPlace    = 300 // characters
	maxDays     = 366
	maxDuration = (maxDays + 1) * 24 * time.Hour // the longest event, with a change of the clocks
)

// Draft is what a new event is made of.
type Draft struct {
	Title           string `json:"title" jsonschema:"one line, at most 200 characters"`
	Start           string `json:"start" jsonschema:"local time such as 2026-03-02T09:00, read in timeZone; or RFC 3339 with an offset; or a date such as 2026-03-02 for an event of whole days"`
	End             string `json:"end,omitempty" jsonschema:"first moment after the event, written like start; of whole days the day after the last. Give end or durationMinutes; a date without either lasts one day"`
	DurationMinutes int    `json:"durationMinutes,omitempty" min:"1" jsonschema:"length of the event in minutes, instead of end"`
	TimeZone        string `json:"timeZone,omitempty" jsonschema:"IANA name such as Europe/Berlin; a recurring event keeps its local time there through changes of the clocks; default is the calendar's own zone"`
	Recurrence      string `json:"recurrence,omitempty" jsonschema:"RFC 5545 rule such as FREQ=WEEKLY;BYDAY=MO,WE;COUNT=10, daily at most; start must be its first member"`
	Location        string `json:"location,omitempty" jsonschema:"where it takes place, one line"`
	OnlyIfFree      bool   `json:"onlyIfFree,omitempty" jsonschema:"refuse with code conflict when the time is taken; not for recurring events"`
}

// record turns a draft into an event, with zone as the calendar's own zone.
func (d Draft) record(zone *time.Location) (*record, error) {
	var p problems
	r := &record{title: line(&p, "title", d.Title, maxTitle), location: line(&p, "location", d.Location, maxPlace)}
	if r.title == "" {
		p.add("title", "must not be empty")
	}
	if d.OnlyIfFree && d.Recurrence != "" {
		p.add("onlyIfFree", "cannot be asked for a recurring event; ask freeBusy instead")
	}
	d.time(&p, r, zone)
	if len(p) == 0 {
		var err error
		if r.rule, err = newRule(d.Recurrence, r.start); err != nil {
			p.add("recurrence", "%v", err)
		}
	}
	return r, p.err()
}

// time reads the fields that say when.
func (d Draft) time(p *problems, r *record, zone *time.Location) {
	if d.TimeZone != "" {
		loc, err := LoadZone(d.TimeZone)
		if err != nil {
			p.add("timeZone", "%v", err)
			return // no other time can be read
		}
		zone = loc
	}
	var whole bool
	if r.start, whole = parseTime(p, "start", d.Start, zone); r.start.IsZero() {
		return
	}
	switch {
	case d.End != "" && d.DurationMinutes != 0:
		p.add("end", "cannot be combined with durationMinutes")
	case d.End != "":
		end, endWhole := parseTime(p, "end", d.End, zone)
		if r.length = end.Sub(r.start); r.length <= 0 && !end.IsZero() {
			p.add("end", "must be after start")
		}
		if whole && endWhole {
			r.days, r.length = int(r.length.Round(24*time.Hour)/(24*time.Hour)), 0
		}
	case d.DurationMinutes != 0:
		r.length = time.Duration(d.DurationMinutes) * time.Minute
	case whole:
		r.days = 1
	default:
		p.add("end", "is missing; give end or durationMinutes")
	}
	if r.days > maxDays || r.length > maxDays*24*time.Hour {
		p.add("end", "is more than %d days after start", maxDays)
	}
}

// layouts are the ways in which a local time may be written. The last has no time of day.
var layouts = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly}

// parseTime reads an instant, a local time of loc, or a date, which is its midnight and
// whole. It returns the zero time for one that cannot be read.
func parseTime(p *problems, field, text string, loc *time.Location) (at time.Time, whole bool) {
	at, err := time.Parse(time.RFC3339, text)
	for i := 0; err != nil && i < len(layouts); i++ {
		at, err = time.ParseInLocation(layouts[i], text, loc)
		whole = layouts[i] == time.DateOnly
	}
	switch {
	case err != nil:
		p.add(field, "must look like 2026-03-02T09:00, 2026-03-02T09:00:00+01:00 or 2026-03-02, not like %q", text)
		return time.Time{}, false
	case at.Year() < 1900 || at.Year() > 2200:
		p.add(field, "must be in the years 1900 to 2200")
		return time.Time{}, false
	}
	return at.Truncate(time.Second).In(loc), whole
}

func line(p *problems, field, text string, limit int) string {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) > limit || strings.ContainsFunc(text, unicode.IsControl) {
		p.add(field, "must be one line of at most %d characters", limit)
	}
	return text
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
