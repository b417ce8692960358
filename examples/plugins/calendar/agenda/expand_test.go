package agenda

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := LoadZone(name)
	if err != nil {
		t.Fatalf("%s %v", name, err)
	}
	return loc
}

// draft makes an event without a store, in Berlin unless it says otherwise.
func draft(t testing.TB, d Draft) *record {
	t.Helper()
	if d.Title == "" {
		d.Title = "x"
	}
	r, err := d.record(mustZone(t, "Europe/Berlin"))
	if err != nil {
		t.Fatal(err)
	}
	r.exceptions = map[Wall]exception{}
	return r
}

func window(t testing.TB, from, to string) Window {
	t.Helper()
	w, _, err := Range{From: from, To: to}.check(time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func starts(found []Occurrence) []string {
	out := []string{}
	for _, o := range found {
		out = append(out, o.Start)
	}
	return out
}

func TestSeriesKeepsItsLocalTime(t *testing.T) {
	for name, c := range map[string]struct {
		d        Draft
		from, to string
		want     []string
	}{
		"spring forward": {
			Draft{Start: "2026-03-27T09:00", DurationMinutes: 30, Recurrence: "FREQ=DAILY"},
			"2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z",
			[]string{"2026-03-28T09:00:00+01:00", "2026-03-29T09:00:00+02:00", "2026-03-30T09:00:00+02:00"},
		},
		"fall back": {
			Draft{Start: "2026-10-24T09:00", DurationMinutes: 30, Recurrence: "FREQ=DAILY;COUNT=3"},
			"2026-10-01", "2026-11-01",
			[]string{"2026-10-24T09:00:00+02:00", "2026-10-25T09:00:00+01:00", "2026-10-26T09:00:00+01:00"},
		},
		"a skipped time moves past the gap": {
			Draft{Start: "2026-03-28T02:30", DurationMinutes: 30, Recurrence: "FREQ=DAILY;COUNT=3"},
			"2026-03-01", "2026-04-01",
			[]string{"2026-03-28T02:30:00+01:00", "2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"},
		},
		"a repeated time happens once, first": {
			Draft{Start: "2026-10-24T02:30", DurationMinutes: 30, Recurrence: "FREQ=DAILY;COUNT=3"},
			"2026-10-01", "2026-11-01",
			[]string{"2026-10-24T02:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"},
		},
		"UNTIL in UTC is read in the zone": {
			Draft{Start: "2026-03-27T09:00", DurationMinutes: 30, Recurrence: "FREQ=DAILY;UNTIL=20260329T070000Z"},
			"2026-03-01", "2026-04-30",
			[]string{"2026-03-27T09:00:00+01:00", "2026-03-28T09:00:00+01:00", "2026-03-29T09:00:00+02:00"},
		},
		"UNTIL as a date includes the day": {
			Draft{Start: "2026-03-02T09:00", DurationMinutes: 30, Recurrence: "FREQ=WEEKLY;BYDAY=MO,WE;UNTIL=20260309"},
			"2026-03-01", "2026-04-30",
			[]string{"2026-03-02T09:00:00+01:00", "2026-03-04T09:00:00+01:00", "2026-03-09T09:00:00+01:00"},
		},
		"last Friday of the month": {
			Draft{Start: "2026-01-30T17:00", DurationMinutes: 60, Recurrence: "RRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=3"},
			"2026-01-01", "2026-12-31",
			[]string{"2026-01-30T17:00:00+01:00", "2026-02-27T17:00:00+01:00", "2026-03-27T17:00:00+01:00"},
		},
		"29 February": {
			Draft{Start: "2024-02-29", Recurrence: "FREQ=YEARLY"},
			"2027-01-01", "2028-12-31", []string{"2028-02-29"},
		},
		"all-day, many days, seen while it lasts": {
			Draft{Start: "2026-03-28", End: "2026-03-31"},
			"2026-03-30T12:00:00Z", "2026-03-30T13:00:00Z", []string{"2026-03-28"},
		},
		"an event that ends where the range begins is outside": {
			Draft{Start: "2026-03-02T09:00:00Z", End: "2026-03-02T10:00:00Z"},
			"2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z", []string{},
		},
		"an event that has begun before is inside": {
			Draft{Start: "2026-03-02T09:00:00Z", End: "2026-03-02T10:00:01Z"},
			"2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z", []string{"2026-03-02T10:00:00+01:00"},
		},
		"nothing before the start": {
			Draft{Start: "2026-03-02T09:00", DurationMinutes: 5, Recurrence: "FREQ=DAILY"},
			"2026-02-01", "2026-03-02", []string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := draft(t, c.d).overlapping(window(t, c.from, c.to), mustZone(t, "Europe/Berlin"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, starts(got)); diff != "" {
				t.Errorf("starts (-want +got):\n%s", diff)
			}
		})
	}
}

// A night shift over the change of the clocks lasts its eight hours; an
// all-day event lasts its date, be it 23 or 25 hours.
func TestDurations(t *testing.T) {
	for _, c := range []struct {
		start, recurrence, from string
		minutes                 int
		want                    time.Duration
	}{
		{"2026-03-28T22:00", "FREQ=DAILY;COUNT=2", "2026-03-28T22:00:00Z", 480, 8 * time.Hour},
		{"2026-10-24T22:00", "FREQ=DAILY;COUNT=2", "2026-10-24T22:00:00Z", 480, 8 * time.Hour},
		{"2026-03-29", "", "2026-03-29T12:00:00Z", 0, 23 * time.Hour},
		{"2026-10-25", "", "2026-10-25T12:00:00Z", 0, 25 * time.Hour},
	} {
		r := draft(t, Draft{Start: c.start, DurationMinutes: c.minutes, Recurrence: c.recurrence})
		at, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.overlapping(Window{at, at.Add(time.Minute)}, mustZone(t, "Europe/Berlin"))
		if err != nil || len(got) != 1 || got[0].at.To.Sub(got[0].at.From) != c.want {
			t.Errorf("%s: %+v, %v; want one of %s", c.start, got, err, c.want)
		}
	}
}

func TestExceptionsInPlace(t *testing.T) {
	r := draft(t, Draft{Title: "Stand-up", Start: "2026-03-02T09:00", DurationMinutes: 15, Recurrence: "FREQ=DAILY;COUNT=5"})
	wall := func(text string) Wall {
		w, _, err := ParseWall(text)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	r.exceptions[wall("2026-03-03T09:00")] = exception{cancelled: true}
	r.exceptions[wall("2026-03-04T09:00")] = exception{span: Span{Start: wall("2026-03-20T16:00"), Duration: time.Hour}, title: "Long stand-up"}
	got, err := r.overlapping(window(t, "2026-03-01", "2026-03-31"), mustZone(t, "Europe/Berlin"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Occurrence{
		{Occurrence: "2026-03-02T09:00:00", Title: "Stand-up", Start: "2026-03-02T09:00:00+01:00", End: "2026-03-02T09:15:00+01:00"},
		{Occurrence: "2026-03-05T09:00:00", Title: "Stand-up", Start: "2026-03-05T09:00:00+01:00", End: "2026-03-05T09:15:00+01:00"},
		{Occurrence: "2026-03-06T09:00:00", Title: "Stand-up", Start: "2026-03-06T09:00:00+01:00", End: "2026-03-06T09:15:00+01:00"},
		{Occurrence: "2026-03-04T09:00:00", Title: "Long stand-up", Start: "2026-03-20T16:00:00+01:00", End: "2026-03-20T17:00:00+01:00", Moved: true},
	}
	for i := range want {
		want[i].Recurring, want[i].Attendees = true, []string{}
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Occurrence{})); diff != "" {
		t.Errorf("occurrences (-want +got):\n%s", diff)
	}
}

func TestRefusedRules(t *testing.T) {
	for rule, want := range map[string]string{
		"FREQ=HOURLY":                         "more often than daily",
		"FREQ=SECONDLY":                       "more often than daily",
		"FREQ=DAILY;BYHOUR=9,10":              "BYHOUR",
		"FREQ=DAILY;X-OWN=1":                  "X-OWN",
		"FREQ=DAILY;COUNT=0":                  "zero",
		"FREQ=DAILY;INTERVAL=0":               "zero",
		"FREQ=DAILY;COUNT=-1":                 "COUNT",
		"FREQ=DAILY;COUNT=99999999":           "COUNT",
		"FREQ=DAILY;INTERVAL=5000":            "INTERVAL",
		"FREQ=DAILY;COUNT=3;UNTIL=20270101":   "both COUNT and UNTIL",
		"FREQ=DAILY;UNTIL=soon":               "UNTIL",
		"FREQ=SOMETIMES":                      "not a recurrence rule",
		"FREQ=MONTHLY;BYMONTHDAY=77":          "not a recurrence rule",
		"INTERVAL=2":                          "not a recurrence rule",
		"every Monday":                        "EVERY MONDAY",
		"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30": "no member",
		"FREQ=WEEKLY;BYDAY=TU":                "first one after it is 2026-03-03T09:00:00",
		"FREQ=DAILY;UNTIL=20200101":           "no member",
		strings.Repeat("FREQ=DAILY;", 40):     "longer than",
	} {
		_, err := Draft{Title: "x", Start: "2026-03-02T09:00", DurationMinutes: 5, Recurrence: rule}.record(time.UTC)
		if !errors.Is(err, &Error{Code: CodeInvalidField}) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want a refusal with %q", rule, err, want)
		}
	}
}

// The bound on one answer is an error, not a silent cut.
func TestTooMuch(t *testing.T) {
	var many []*record
	for range 8 {
		many = append(many, draft(t, Draft{Start: "2026-01-01T09:00", DurationMinutes: 5, Recurrence: "FREQ=DAILY"}))
	}
	w := window(t, "2026-01-01", "2027-12-31")
	if _, err := expand(many, w, time.UTC); !errors.Is(err, &Error{Code: CodeTooMuch}) {
		t.Errorf("8 daily events over two years: %v", err)
	}
	if got, err := expand(many[:6], w, time.UTC); err != nil || len(got) != 6*729 {
		t.Errorf("6 daily events over two years: %d, %v", len(got), err)
	}
}

// anySeries draws a recurring event, often one that straddles a change of the
// clocks, with a few cancelled and moved members.
func anySeries(t *rapid.T) *record {
	zones := []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC", "Asia/Kathmandu"}
	loc, err := LoadZone(rapid.SampledFrom(zones).Draw(t, "zone"))
	if err != nil {
		t.Fatal(err)
	}
	start := Wall{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 400*48).Draw(t, "start")) * 30 * time.Minute)}
	allDay := rapid.Bool().Draw(t, "all-day")
	s := Span{Start: start, Duration: time.Duration(rapid.IntRange(0, 3000).Draw(t, "minutes")) * time.Minute}
	if allDay {
		s = Span{Start: start.Date(), AllDay: true, Duration: time.Duration(rapid.IntRange(1, 3).Draw(t, "days")) * 24 * time.Hour}
		loc = time.UTC
	}
	rules := []string{
		"FREQ=DAILY", "FREQ=DAILY;INTERVAL=3", "FREQ=DAILY;COUNT=20", "FREQ=WEEKLY", "FREQ=WEEKLY;BYDAY=MO,WE,FR",
		"FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;WKST=SU", "FREQ=MONTHLY;BYDAY=-1FR", "FREQ=MONTHLY;BYMONTHDAY=31", "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1",
		"FREQ=YEARLY;BYMONTH=3,10;BYDAY=-1SU", "FREQ=YEARLY;BYWEEKNO=13", "FREQ=DAILY;UNTIL=20261030", "FREQ=YEARLY;BYYEARDAY=1,88,-1",
	}
	rule, err := ParseRule(rapid.SampledFrom(rules).Draw(t, "rule"), loc)
	if err != nil {
		t.Fatal(err)
	}
	r := &record{id: 1, title: "x", span: s, zone: loc, rule: rule, exceptions: map[Wall]exception{}, attendees: []string{}}
	members, err := rule.walls(start, start, start.AddDays(60))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range members {
		switch rapid.IntRange(0, 9).Draw(t, "exception") {
		case 0:
			r.exceptions[key] = exception{cancelled: true}
		case 1:
			moved := s
			moved.Start = key.AddDays(rapid.IntRange(-40, 40).Draw(t, "moved by"))
			r.exceptions[key] = exception{span: moved}
		}
	}
	return r
}

// Windows that meet, expanded one by one and joined, are the expansion of the
// whole: nothing is lost or doubled at any border.
func TestWindowsJoin(t *testing.T) {
	seen := cmpopts.IgnoreUnexported(Occurrence{})
	rapid.Check(t, func(t *rapid.T) {
		r := anySeries(t)
		loc, err := LoadZone(rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "Pacific/Apia"}).Draw(t, "seen from"))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 500*24).Draw(t, "from")) * time.Hour)
		whole := Window{From: at, To: at}
		joined := []Occurrence{}
		for n := range rapid.IntRange(1, 6).Draw(t, "windows") {
			next := whole.To.Add(time.Duration(rapid.IntRange(0, 60*24*60).Draw(t, fmt.Sprint("minutes ", n))) * time.Minute)
			part, err := r.starting(Window{whole.To, next}, loc)
			if err != nil {
				t.Fatal(err)
			}
			joined = append(joined, part...)
			whole.To = next
		}
		want, err := r.starting(whole, loc)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, joined, seen, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("joined windows differ from the whole (-whole +joined):\n%s", diff)
		}
		for i, o := range want { // and each one is where it says it is
			if !whole.holds(o.at.From) || i > 0 && o.at.From.Before(want[i-1].at.From) {
				t.Fatalf("occurrence %d out of window or order: %+v", i, o)
			}
		}
	})
}

// What overlaps a window is what starts in it, and what has started before and
// is not over.
func TestOverlapIsStartOrLater(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anySeries(t)
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 500*24).Draw(t, "from")) * time.Hour)
		w := Window{at, at.Add(time.Duration(rapid.IntRange(1, 60*24).Draw(t, "hours")) * time.Hour)}
		got, err := r.overlapping(w, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		all, err := r.starting(Window{w.From.AddDate(-1, 0, 0), w.To}, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, o := range all {
			if w.overlaps(o.at.From, o.at.To) {
				want++
			}
		}
		if len(got) != want {
			t.Fatalf("%d overlap, want %d", len(got), want)
		}
	})
}
