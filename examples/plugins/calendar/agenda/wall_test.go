package agenda_test

import (
	"testing"
	"time"

	"github.com/quoinhq/quoin/examples/plugins/calendar/agenda"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := agenda.LoadZone(name)
	if err != nil {
		t.Fatalf("%s %v", name, err)
	}
	return loc
}

func TestWallAt(t *testing.T) {
	for _, c := range []struct{ zone, wall, want, why string }{
		{"UTC", "2026-03-29T02:30:00", "2026-03-29T02:30:00Z", "no transitions at all"},
		{"Europe/Berlin", "2026-01-15T09:00:00", "2026-01-15T09:00:00+01:00", "winter"},
		{"Europe/Berlin", "2026-07-15T09:00:00", "2026-07-15T09:00:00+02:00", "summer"},
		{"Europe/Berlin", "2026-03-29T01:59:59", "2026-03-29T01:59:59+01:00", "last second before the gap"},
		{"Europe/Berlin", "2026-03-29T02:00:00", "2026-03-29T03:00:00+02:00", "start of the gap"},
		{"Europe/Berlin", "2026-03-29T02:30:00", "2026-03-29T03:30:00+02:00", "in the gap"},
		{"Europe/Berlin", "2026-03-29T03:00:00", "2026-03-29T03:00:00+02:00", "first second after the gap"},
		{"Europe/Berlin", "2026-10-25T01:59:59", "2026-10-25T01:59:59+02:00", "before the repeated hour"},
		{"Europe/Berlin", "2026-10-25T02:30:00", "2026-10-25T02:30:00+02:00", "first of two"},
		{"Europe/Berlin", "2026-10-25T03:00:00", "2026-10-25T03:00:00+01:00", "after the repeated hour"},
		{"America/New_York", "2026-03-08T02:30:00", "2026-03-08T03:30:00-04:00", "in the gap"},
		{"America/New_York", "2026-11-01T01:30:00", "2026-11-01T01:30:00-04:00", "first of two"},
		{"Australia/Lord_Howe", "2026-10-04T02:15:00", "2026-10-04T02:45:00+11:00", "half-hour gap"},
		{"Australia/Lord_Howe", "2026-04-05T01:45:00", "2026-04-05T01:45:00+11:00", "half-hour repeat"},
		{"America/Sao_Paulo", "2018-11-04T00:00:00", "2018-11-04T01:00:00-02:00", "a midnight that does not exist"},
		{"Pacific/Apia", "2011-12-30T12:00:00", "2011-12-31T12:00:00+14:00", "a day that does not exist"},
		{"Asia/Kathmandu", "2026-03-02T09:00:00", "2026-03-02T09:00:00+05:45", "quarter-hour offset"},
	} {
		w, _, err := agenda.ParseWall(c.wall)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.At(zone(t, c.zone)).Format(time.RFC3339); got != c.want {
			t.Errorf("%s in %s = %s, want %s (%s)", c.wall, c.zone, got, c.want, c.why)
		}
	}
}

// Every instant of two years, in steps that hit each transition, is found
// again from what the clock shows, or the clock shows that time twice.
func TestWallRoundTrip(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns", "Africa/Casablanca", "Pacific/Chatham"} {
		loc := zone(t, name)
		for at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2027; at = at.Add(15 * time.Minute) {
			w := agenda.WallOf(at, loc)
			got := w.At(loc)
			if agenda.WallOf(got, loc) != w || got.After(at) {
				t.Fatalf("%s: %s shows %s, read back as %s", name, at, w.Key(false), got)
			}
		}
	}
}

func TestLoadZone(t *testing.T) {
	for _, bad := range []string{"", "Local", "local", "Mars/Phobos", "../etc/passwd", "CET+1"} {
		if _, err := agenda.LoadZone(bad); err == nil {
			t.Errorf("zone %q accepted", bad)
		}
	}
}
