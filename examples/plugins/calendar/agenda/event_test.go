package agenda

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	return r
}

func inRange(t testing.TB, from, to string) window {
	t.Helper()
	w, _, err := Range{From: from, To: to}.check(time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return w
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
		"a repeated time happens once": {
			Draft{Start: "2026-10-24T02:30", DurationMinutes: 30, Recurrence: "FREQ=DAILY;COUNT=3"},
			"2026-10-01", "2026-11-01",
			[]string{"2026-10-24T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-26T02:30:00+01:00"},
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
			"2027-01-01", "2028-12-31", []string{"2028-02-29T00:00:00+01:00"},
		},
		"many days, seen while they last": {
			Draft{Start: "2026-03-28", End: "2026-03-31"},
			"2026-03-30T12:00:00Z", "2026-03-30T13:00:00Z", []string{"2026-03-28T00:00:00+01:00"},
		},
		"an event that ends where the range begins is outside": {
			Draft{Start: "2026-03-02T09:00:00Z", End: "2026-03-02T10:00:00Z"},
			"2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z", nil,
		},
		"an event that has begun before is inside": {
			Draft{Start: "2026-03-02T09:00:00Z", End: "2026-03-02T10:00:01Z"},
			"2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z", []string{"2026-03-02T10:00:00+01:00"},
		},
		"nothing before the start": {
			Draft{Start: "2026-03-02T09:00", DurationMinutes: 5, Recurrence: "FREQ=DAILY"},
			"2026-02-01", "2026-03-02", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := draft(t, c.d).during(inRange(t, c.from, c.to), mustZone(t, "Europe/Berlin"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range found {
				got = append(got, o.Start)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("starts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDurations: a night shift over the change of the clocks lasts its eight hours; a date
// lasts until midnight, be it 23 or 25 hours.
func TestDurations(t *testing.T) {
	for start, c := range map[string]struct {
		minutes int
		want    time.Duration
	}{
		"2026-03-28T22:00": {480, 8 * time.Hour}, "2026-10-24T22:00": {480, 8 * time.Hour},
		"2026-03-29": {0, 23 * time.Hour}, "2026-10-25": {0, 25 * time.Hour},
	} {
		r := draft(t, Draft{Start: start, DurationMinutes: c.minutes})
		if at := r.from(r.start); at.to.Sub(at.from) != c.want {
			t.Errorf("%s lasts %v, want %v", start, at.to.Sub(at.from), c.want)
		}
	}
}

func TestRefusedRules(t *testing.T) {
	for rule, want := range map[string]string{
		"FREQ=HOURLY":                         "more often than daily",
		"FREQ=DAILY;BYHOUR=9,10":              "more often than daily",
		"FREQ=DAILY;X-OWN=1":                  "X-OWN",
		"FREQ=DAILY;COUNT=0":                  "COUNT",
		"FREQ=DAILY;INTERVAL=0":               "INTERVAL",
		"FREQ=DAILY;COUNT=-1":                 "COUNT",
		"FREQ=DAILY;COUNT=99999999":           "COUNT",
		"FREQ=DAILY;INTERVAL=5000":            "INTERVAL",
		"FREQ=DAILY;UNTIL=soon":               "SOON",
		"FREQ=SOMETIMES":                      "not a recurrence rule",
		"FREQ=MONTHLY;BYMONTHDAY=77":          "not a recurrence rule",
		"every Monday":                        "not a recurrence rule",
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

// TestTooMuch: the bound on one answer is an error, not a silent cut.
func TestTooMuch(t *testing.T) {
	var many []*record
	for range 8 {
		many = append(many, draft(t, Draft{Start: "2026-01-01T09:00", DurationMinutes: 5, Recurrence: "FREQ=DAILY"}))
	}
	w := inRange(t, "2026-01-01", "2027-12-31")
	if _, err := during(many, w, time.UTC); !errors.Is(err, &Error{Code: CodeTooMuch}) {
		t.Errorf("8 daily events over two years: %v", err)
	}
	if got, err := during(many[:6], w, time.UTC); err != nil || len(got) != 6*729 {
		t.Errorf("6 daily events over two years: %d, %v", len(got), err)
	}
}

// TestWindowsJoin: what takes place in windows that meet is what takes place in the whole.
// Nothing is lost at a border, and what crosses one is in both.
func TestWindowsJoin(t *testing.T) {
	rules := []string{
		"FREQ=DAILY", "FREQ=DAILY;INTERVAL=3", "FREQ=DAILY;COUNT=20", "FREQ=WEEKLY", "FREQ=MONTHLY", "FREQ=YEARLY", "FREQ=DAILY;UNTIL=20261030",
	}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"}).Draw(t, "zone")
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 200*48).Draw(t, "start")) * 30 * time.Minute)
		d := Draft{
			Title: "x", TimeZone: zone, Start: start.Format(layouts[0]),
			DurationMinutes: rapid.IntRange(1, 3000).Draw(t, "minutes"), Recurrence: rapid.SampledFrom(rules).Draw(t, "rule"),
		}
		r, err := d.record(time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 400*24).Draw(t, "from")) * time.Hour)
		middle := from.Add(time.Duration(rapid.IntRange(1, 60*24).Draw(t, "first")) * time.Hour)
		to := middle.Add(time.Duration(rapid.IntRange(1, 60*24).Draw(t, "second")) * time.Hour)
		seen := map[string]int{}
		for _, w := range []window{{from, middle}, {middle, to}} {
			found, err := r.during(w, time.UTC)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range found {
				seen[o.Start]++
			}
		}
		whole, err := r.during(window{from, to}, time.UTC)
		if err != nil || len(whole) != len(seen) {
			t.Fatalf("%d in the whole, %d in its parts, %v", len(whole), len(seen), err)
		}
		for _, o := range whole {
			crosses := o.at.from.Before(middle) && o.at.to.After(middle)
			if want := map[bool]int{false: 1, true: 2}[crosses]; seen[o.Start] != want {
				t.Fatalf("%s is in %d parts, want %d", o.Start, seen[o.Start], want)
			}
		}
	})
}

func TestLoadZone(t *testing.T) {
	for _, bad := range []string{"", "Local", "local", "Mars/Phobos", "../etc/passwd", "CET+1"} {
		if _, err := LoadZone(bad); err == nil {
			t.Errorf("zone %q accepted", bad)
		}
	}
}
