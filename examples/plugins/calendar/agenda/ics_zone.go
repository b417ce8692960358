package agenda

import (
	"fmt"
	"time"

	ics "github.com/arran4/golang-ical"
)

// zoneYears is how far into the future a written time zone reaches.
const zoneYears = 10

// timezone spells out every change of a zone's clocks from a moment on, so
// that a reader without zone data of its own comes to the same instants.
func timezone(loc *time.Location, since, now time.Time) *ics.VTimezone {
	out := ics.NewTimezone(loc.String())
	at := since.AddDate(-1, 0, 0).In(loc)
	end := now.AddDate(zoneYears, 0, 0)
	if end.Before(since) {
		end = since.AddDate(1, 0, 0)
	}
	start, _ := at.ZoneBounds()
	if start.IsZero() {
		start = at // the zone has always been so
	}
	for first := true; first || start.Before(end); first = false {
		observe(out, start, loc)
		_, next := start.In(loc).ZoneBounds()
		if next.IsZero() {
			break
		}
		start = next
	}
	return out
}

// observe writes the offset that holds from an instant on.
func observe(zone *ics.VTimezone, from time.Time, loc *time.Location) {
	before := from.Add(-time.Second).In(loc)
	after := from.In(loc)
	name, to := after.Zone()
	_, was := before.Zone()
	base := ics.ComponentBase{}
	base.AddProperty(ics.ComponentPropertyDtStart, from.Add(time.Duration(was)*time.Second).UTC().Format(icsLocal))
	base.AddProperty("TZOFFSETFROM", offset(was))
	base.AddProperty("TZOFFSETTO", offset(to))
	base.AddProperty("TZNAME", name)
	if after.IsDST() {
		zone.Components = append(zone.Components, &ics.Daylight{ComponentBase: base})
	} else {
		zone.Components = append(zone.Components, &ics.Standard{ComponentBase: base})
	}
}

// offset writes seconds east of Greenwich.
func offset(seconds int) string {
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	text := fmt.Sprintf("%c%02d%02d", sign, seconds/3600, seconds/60%60)
	if rest := seconds % 60; rest != 0 { // local mean time of long ago
		text += fmt.Sprintf("%02d", rest)
	}
	return text
}
