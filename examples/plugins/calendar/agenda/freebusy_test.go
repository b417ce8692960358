package agenda

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFreeBusyAnswer(t *testing.T) {
	berlin := mustZone(t, "Europe/Berlin")
	events := []*record{
		draft(t, Draft{Start: "2026-03-02T10:00", DurationMinutes: 60}),
		draft(t, Draft{Start: "2026-03-02T10:30", DurationMinutes: 45}), // overlaps: joined
		draft(t, Draft{Start: "2026-03-02T11:15", DurationMinutes: 15}), // touches: joined
		draft(t, Draft{Start: "2026-03-02T14:00", DurationMinutes: 30}),
		draft(t, Draft{Start: "2026-03-02T16:40", DurationMinutes: 120}), // past the working day
		draft(t, Draft{Start: "2026-03-03"}),                             // the whole Tuesday
	}
	hours := &WorkingHours{From: "09:00", To: "17:00"}
	iv := func(list ...string) []Interval {
		out := []Interval{}
		for i := 0; i < len(list); i += 2 {
			out = append(out, Interval{"2026-03-" + list[i] + ":00+01:00", "2026-03-" + list[i+1] + ":00+01:00"})
		}
		return out
	}
	for name, c := range map[string]struct {
		o        FreeBusyOptions
		from, to string
		want     FreeBusy
	}{
		"working hours over a weekend": {
			FreeBusyOptions{WorkingHours: hours}, "2026-02-28", "2026-03-04",
			FreeBusy{
				Busy:  iv("02T10:00", "02T11:30", "02T14:00", "02T14:30", "02T16:40", "02T17:00", "03T09:00", "03T17:00"),
				Free:  iv("02T09:00", "02T10:00", "02T11:30", "02T14:00", "02T14:30", "02T16:40"),
				Slots: iv(),
			},
		},
		"slots start on the quarter and do not overlap": {
			FreeBusyOptions{WorkingHours: hours, SlotMinutes: 50}, "2026-03-02", "2026-03-03",
			FreeBusy{
				Busy:  iv("02T10:00", "02T11:30", "02T14:00", "02T14:30", "02T16:40", "02T17:00"),
				Free:  iv("02T09:00", "02T10:00", "02T11:30", "02T14:00", "02T14:30", "02T16:40"),
				Slots: iv("02T09:00", "02T09:50", "02T11:30", "02T12:20", "02T12:30", "02T13:20", "02T14:30", "02T15:20", "02T15:30", "02T16:20"),
			},
		},
		"a few slots of one day": {
			FreeBusyOptions{WorkingHours: &WorkingHours{From: "12:00", To: "14:30", Days: []string{"MO"}}, SlotMinutes: 60, MaxSlots: 1},
			"2026-03-02", "2026-03-04",
			FreeBusy{Busy: iv("02T14:00", "02T14:30"), Free: iv("02T12:00", "02T14:00"), Slots: iv("02T12:00", "02T13:00")},
		},
		"the range cuts the day": {
			FreeBusyOptions{WorkingHours: hours}, "2026-03-02T10:45", "2026-03-02T12:00",
			FreeBusy{Busy: iv("02T10:45", "02T11:30"), Free: iv("02T11:30", "02T12:00"), Slots: iv()},
		},
		"without working hours the night counts": {
			FreeBusyOptions{}, "2026-03-02T22:00", "2026-03-03T02:00",
			FreeBusy{Busy: iv("03T00:00", "03T02:00"), Free: iv("02T22:00", "03T00:00"), Slots: iv()},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, loc, err := Range{From: c.from, To: c.to}.check(berlin)
			if err != nil {
				t.Fatal(err)
			}
			found, err := during(events, w, loc)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.o.answer(found, w, loc)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// Working hours are local: the day on which the clocks change has the same
// hours on the wall, and other instants.
func TestWorkingHoursAcrossClockChange(t *testing.T) {
	w, loc, err := Range{From: "2026-03-28", To: "2026-03-30", TimeZone: "Europe/Berlin"}.check(time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	o := FreeBusyOptions{WorkingHours: &WorkingHours{From: "00:00", To: "24:00", Days: []string{"SA", "SU"}}}
	got, err := o.answer(nil, w, loc)
	want := []Interval{{"2026-03-28T00:00:00+01:00", "2026-03-30T00:00:00+02:00"}}
	if err != nil || cmp.Diff(want, got.Free) != "" {
		t.Errorf("free %v, %v; want %v", got.Free, err, want)
	}
}

func TestFreeBusyRefusals(t *testing.T) {
	w := inRange(t, "2026-03-02", "2026-03-03")
	for name, o := range map[string]FreeBusyOptions{
		"no such time":    {WorkingHours: &WorkingHours{From: "nine", To: "17:00"}},
		"backwards":       {WorkingHours: &WorkingHours{From: "17:00", To: "09:00"}},
		"no such day":     {WorkingHours: &WorkingHours{From: "09:00", To: "17:00", Days: []string{"Mo", "XX"}}},
		"too many slots":  {MaxSlots: 501},
		"a slot of weeks": {SlotMinutes: 20000},
	} {
		if _, err := o.answer(nil, w, time.UTC); !errors.Is(err, &Error{Code: CodeInvalidField}) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Busy and free together are exactly the working time, in order, without
// overlap.
func TestBusyAndFreePartition(t *testing.T) {
	base := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return base.Add(time.Duration(minutes) * time.Minute) }
	anyWindows := rapid.Custom(func(t *rapid.T) window {
		from := rapid.IntRange(0, 600).Draw(t, "from")
		return window{at(from), at(from + rapid.IntRange(0, 200).Draw(t, "minutes"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		working := merge(rapid.SliceOfN(anyWindows, 0, 4).Draw(t, "working"))
		busy := rapid.SliceOfN(anyWindows, 0, 8).Draw(t, "busy")
		taken, free := split(working, busy)
		in := func(list []window, m int) (n int) {
			for _, w := range list {
				if w.overlaps(window{at(m), at(m + 1)}) {
					n++
				}
			}
			return n
		}
		for m := range 900 {
			wantBusy := in(working, m) > 0 && in(busy, m) > 0
			wantFree := in(working, m) > 0 && in(busy, m) == 0
			if got := in(taken, m); got > 1 || (got == 1) != wantBusy {
				t.Fatalf("minute %d is taken %d times, want %v", m, got, wantBusy)
			}
			if got := in(free, m); got > 1 || (got == 1) != wantFree {
				t.Fatalf("minute %d is free %d times, want %v", m, got, wantFree)
			}
		}
		for _, s := range slots(free, 25*time.Minute, 50, time.UTC) {
			if s.from.Minute()%15 != 0 || s.to.Sub(s.from) != 25*time.Minute || len(merge(append(free, s))) != len(free) {
				t.Fatalf("slot %v is not free, aligned and long enough", s)
			}
		}
	})
}
