package agenda

import (
	"strings"
	"testing"
	"time"

	ics "github.com/arran4/golang-ical"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// file wraps entries into a calendar.
func file(lines ...string) string {
	return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VCALENDAR\r\n"
}

func vevent(lines ...string) string {
	return "BEGIN:VEVENT\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VEVENT"
}

func TestImport(t *testing.T) {
	s := open(t)
	text := file(
		vevent("UID:a", "SUMMARY:Stand-up\\, short", "DTSTART;TZID=America/New_York:20260302T090000", "DURATION:PT15M",
			"RRULE:FREQ=WEEKLY;BYDAY=MO;UNTIL=20260331T000000Z", "EXDATE;TZID=America/New_York:20260309T090000", "ATTENDEE;CN=Ada:MAILTO:Ada@example.org",
			"ATTENDEE:urn:uuid:1", "LOCATION:Room\\n1", "DESCRIPTION:First\\nsecond"),
		vevent("UID:a", "RECURRENCE-ID;TZID=America/New_York:20260316T090000", "SUMMARY:Stand-up\\, short", "LOCATION:Room 1", "DTSTART:20260317T150000Z", "DTEND:20260317T160000Z"),
		vevent("UID:a", "RECURRENCE-ID:20260323T130000Z", "STATUS:CANCELLED", "SUMMARY:x", "DTSTART:20260323T130000Z"),
		vevent("UID:b", "SUMMARY:Fair", "DTSTART;VALUE=DATE:20260303", "DTEND;VALUE=DATE:20260306", "TRANSP:TRANSPARENT"),
		vevent("UID:c", "DTSTART:20260304T120000", "DTEND:20260304T130000"),
	)
	got, err := s.Import(t.Context(), text, false)
	if err != nil {
		t.Fatal(err)
	}
	want := Imported{Created: []int64{1, 2, 3}, Updated: []int64{}, Notes: []Note{{UID: "a", Title: "Stand-up, short", Problem: `attendee "urn:uuid:1" has no e-mail address and was left out`}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("imported (-want +got):\n%s", diff)
	}
	var seen []string
	for _, o := range list(t, s, "2026-03-01", "2026-04-01") {
		seen = append(seen, o.Title+" "+o.Start)
	}
	if diff := cmp.Diff([]string{
		"Stand-up, short 2026-03-02T15:00:00+01:00",
		"Fair 2026-03-03",
		"(no title) 2026-03-04T12:00:00+01:00",      // floating: the calendar's zone
		"Stand-up, short 2026-03-17T16:00:00+01:00", // moved
		"Stand-up, short 2026-03-30T15:00:00+02:00", // both zones in summer
	}, seen); diff != "" {
		t.Errorf("occurrences (-want +got):\n%s", diff)
	}

	again, err := s.Import(t.Context(), text, false)
	if err != nil || again.Unchanged != 3 || len(again.Created)+len(again.Updated) != 0 {
		t.Errorf("imported again: %+v, %v", again, err)
	}
	changed := strings.Replace(text, "SUMMARY:Fair", "SUMMARY:Big fair", 1)
	if dry, err := s.Import(t.Context(), changed, true); err != nil || !cmp.Equal(dry.Updated, []int64{2}) || list(t, s, "2026-03-03", "2026-03-04")[0].Title != "Fair" {
		t.Errorf("dry run: %+v, %v", dry, err)
	}
	if wet, err := s.Import(t.Context(), changed, false); err != nil || !cmp.Equal(wet.Updated, []int64{2}) || list(t, s, "2026-03-03", "2026-03-04")[0].Title != "Big fair" {
		t.Errorf("changed: %+v, %v", wet, err)
	}
}

func TestImportNotes(t *testing.T) {
	s := open(t)
	when := "DTSTART:20260304T120000Z"
	for name, c := range map[string]struct{ entry, problem string }{
		"no UID":              {vevent("SUMMARY:x", when), "uid is missing"},
		"no start":            {vevent("UID:x", "SUMMARY:x"), "DTSTART: it is missing"},
		"not a time":          {vevent("UID:x", "DTSTART:soon"), "not a date or time"},
		"unknown zone":        {vevent("UID:x", "DTSTART;TZID=W. Europe Standard Time:20260304T120000"), "TZID is not a known IANA"},
		"ends early":          {vevent("UID:x", when, "DTEND:20260304T110000Z"), "ends before it starts"},
		"date and time":       {vevent("UID:x", when, "DTEND;VALUE=DATE:20260305"), "DTEND must be a date"},
		"odd duration":        {vevent("UID:x", when, "DURATION:PT"), "not a duration"},
		"negative duration":   {vevent("UID:x", when, "DURATION:-PT5M"), "not a duration"},
		"half a day":          {vevent("UID:x", "DTSTART;VALUE=DATE:20260304", "DURATION:PT12H"), "part of a day"},
		"too often":           {vevent("UID:x", when, "RRULE:FREQ=HOURLY"), "more often than daily"},
		"two rules":           {vevent("UID:x", when, "RRULE:FREQ=DAILY", "RRULE:FREQ=WEEKLY"), "more than one RRULE"},
		"RDATE":               {vevent("UID:x", when, "RDATE:20260305T120000Z"), "RDATE"},
		"start off the rule":  {vevent("UID:x", when, "RRULE:FREQ=WEEKLY;BYDAY=MO"), "not a member of the recurrence"},
		"cancelled":           {vevent("UID:x", when, "STATUS:CANCELLED"), "cancelled"},
		"override of nothing": {vevent("UID:x", when, "RECURRENCE-ID:20260304T120000Z"), "no series of this UID"},
	} {
		got, err := s.Import(t.Context(), file(c.entry, vevent("UID:good", "SUMMARY:x", when)), true)
		if err != nil || len(got.Created) != 1 || len(got.Notes) != 1 || !got.Notes[0].Skipped || !strings.Contains(got.Notes[0].Problem, c.problem) {
			t.Errorf("%s: %+v, %v; want a note with %q and one good event", name, got, err, c.problem)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "prose": "Dear calendar,", "half": "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n", "too long": strings.Repeat("x", maxICS+1),
	} {
		if got, err := s.Import(t.Context(), text, false); err == nil {
			t.Errorf("%s: imported %+v", name, got)
		}
	}
}

// What is exported comes back as it was, into another calendar with another
// zone of its own.
func TestRoundTrip(t *testing.T) {
	texts := rapid.StringOfN(rapid.SampledFrom([]rune(`aÄ€😀 ,;:\"'n^`)), 1, 90, -1)
	rapid.Check(t, func(r *rapid.T) {
		e := anySeries(r)
		e.uid, e.title = "u1", oneLine("t"+texts.Draw(r, "title"))
		e.location = oneLine(texts.Draw(r, "location"))
		e.description = texts.Draw(r, "description") + "\n" + texts.Draw(r, "more")
		e.transparent = rapid.Bool().Draw(r, "transparent")
		e.attendees = []string{"a@example.org", "b@example.org"}
		first, ok := e.rule.first(e.span.Start)
		if !ok {
			r.Skip("the drawn rule has no member")
		}
		e.span.Start = first
		keepMembers(r, e)

		text := writeICS([]*record{e}, noon)
		cal, err := ics.ParseCalendar(strings.NewReader(text))
		if err != nil {
			r.Fatalf("%v\n%s", err, text)
		}
		out := Imported{}
		back := (&Store{zone: time.FixedZone("elsewhere", 3600)}).read(cal.Events(), &out)
		if len(back) != 1 || len(out.Notes) != 0 {
			r.Fatalf("%d events, notes %+v\n%s", len(back), out.Notes, text)
		}
		want := e.event()
		want.ID = 0
		if diff := cmp.Diff(want, back[0].event()); diff != "" {
			r.Fatalf("came back different (-want +got):\n%s\n%s", diff, text)
		}
	})
}

// oneLine is how an import writes a title.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// keepMembers drops the exceptions that are no members of the series.
func keepMembers(t *rapid.T, e *record) {
	for key := range e.exceptions {
		has, err := e.has(key)
		if err != nil {
			t.Fatal(err)
		}
		if !has {
			delete(e.exceptions, key)
		}
	}
}

// A member in a skipped hour is found by its local time, by its instant, and by
// the start that list shows.
func TestMemberInSkippedHour(t *testing.T) {
	s := open(t)
	series := []string{"UID:a", "SUMMARY:x", "DTSTART;TZID=Europe/Berlin:20260328T023000", "DURATION:PT15M", "RRULE:FREQ=DAILY;COUNT=3"}
	for _, exdate := range []string{"EXDATE;TZID=Europe/Berlin:20260329T023000", "EXDATE:20260329T013000Z", "EXDATE;TZID=America/New_York:20260328T213000"} {
		if got, err := s.Import(t.Context(), file(vevent(append(series, exdate)...)), false); err != nil || len(got.Notes) != 0 {
			t.Errorf("%s: %+v, %v", exdate, got, err)
		}
		if got := list(t, s, "2026-03-29", "2026-03-30"); len(got) != 0 {
			t.Errorf("%s: still there: %+v", exdate, got)
		}
		if _, err := s.Import(t.Context(), file(vevent(series...)), false); err != nil {
			t.Fatal(err)
		}
	}
	shown := list(t, s, "2026-03-29", "2026-03-30")[0]
	if shown.Start != "2026-03-29T03:30:00+02:00" || shown.Occurrence != "2026-03-29T02:30:00" {
		t.Errorf("shown as %+v", shown)
	}
	if _, err := s.Remove(t.Context(), "", shown.ID, Removal{Scope: ScopeOccurrence, Occurrence: shown.Start}); err != nil {
		t.Error(err)
	}
}

// A file carries the rules of its zones, so that the reader needs none.
func TestExportedZone(t *testing.T) {
	s := open(t)
	create(t, s, Draft{Title: "x", Start: "2026-03-02T09:00", DurationMinutes: 15})
	create(t, s, Draft{Title: "y", Start: "2026-03-02T09:00", DurationMinutes: 15, TimeZone: "UTC"})
	out, err := s.Export(t.Context(), nil)
	if err != nil || out.Events != 2 {
		t.Fatal(out.Events, err)
	}
	for _, want := range []string{
		"BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\n",
		"BEGIN:DAYLIGHT\r\nDTSTART:20260329T020000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nTZNAME:CEST\r\nEND:DAYLIGHT",
		"BEGIN:STANDARD\r\nDTSTART:20261025T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nTZNAME:CET\r\nEND:STANDARD",
		"DTSTART;TZID=Europe/Berlin:20260302T090000\r\n",
		"DTSTART:20260302T090000Z\r\n",
		"DTSTAMP:20260301T120000Z\r\n",
	} {
		if !strings.Contains(out.ICS, want) {
			t.Errorf("the file lacks %q:\n%s", want, out.ICS)
		}
	}
	if strings.Count(out.ICS, "BEGIN:VTIMEZONE") != 1 {
		t.Error("UTC is not a time zone to be spelled out")
	}
	if one, err := s.Export(t.Context(), []int64{2, 2}); err != nil || one.Events != 1 {
		t.Errorf("%d events, %v; want 1", one.Events, err)
	}
	_, err = s.Export(t.Context(), []int64{7})
	refused(t, err, CodeNotFound, "7")
}

// No file, however broken, stops the plugin.
func FuzzImport(f *testing.F) {
	f.Add(file(vevent("UID:a", "SUMMARY:x", "DTSTART;TZID=America/New_York:20260302T090000", "DURATION:PT15M", "RRULE:FREQ=WEEKLY", "EXDATE:20260309T140000Z")))
	f.Add(file(vevent("UID:a", "DTSTART;VALUE=DATE:20260303", "RRULE:FREQ=YEARLY;BYWEEKNO=53;BYDAY=SU"), vevent("UID:a", "RECURRENCE-ID;VALUE=DATE:20270103", "DTSTART;VALUE=DATE:20270104")))
	f.Fuzz(func(t *testing.T, text string) {
		cal, err := ics.ParseCalendar(strings.NewReader(text))
		if err != nil {
			return
		}
		out := Imported{}
		for _, r := range (&Store{zone: time.UTC}).read(cal.Events(), &out) {
			if _, err := r.overlapping(Window{noon, noon.AddDate(0, 1, 0)}, time.UTC); err != nil {
				t.Errorf("%q imported and not usable: %v", r.title, err)
			}
			writeICS([]*record{r}, noon)
		}
	})
}
