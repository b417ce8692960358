package agenda

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := OpenStore(t.Context(), filepath.Join(t.TempDir(), "calendar.db"), mustZone(t, "Europe/Berlin"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func create(t *testing.T, s *Store, d Draft) Event {
	t.Helper()
	e, err := s.Create(t.Context(), "", d)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func list(t *testing.T, s *Store, from, to string) []Occurrence {
	t.Helper()
	page, err := s.List(t.Context(), Query{Range: Range{From: from, To: to}})
	if err != nil {
		t.Fatal(err)
	}
	return page.Items
}

// refused wants an error with this code and with a message that contains text.
func refused(t *testing.T, err error, code, text string) {
	t.Helper()
	if !errors.Is(err, &Error{Code: code}) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want code %s with %q", err, code, text)
	}
}

func TestCreateReadsTimes(t *testing.T) {
	s := open(t)
	for name, c := range map[string]struct {
		d                Draft
		start, end, zone string
	}{
		"local time of the calendar": {Draft{Start: "2026-07-01T09:00", DurationMinutes: 30}, "2026-07-01T09:00:00+02:00", "2026-07-01T09:30:00+02:00", "Europe/Berlin"},
		"local time of its zone":     {Draft{Start: "2026-07-01T09:00:00", End: "2026-07-01T10:00", TimeZone: "America/New_York"}, "2026-07-01T09:00:00-04:00", "2026-07-01T10:00:00-04:00", "America/New_York"},
		"an instant":                 {Draft{Start: "2026-07-01T09:00:00Z", End: "2026-07-01T12:00:00+02:00"}, "2026-07-01T11:00:00+02:00", "2026-07-01T12:00:00+02:00", "Europe/Berlin"},
		"a day":                      {Draft{Start: "2026-07-01"}, "2026-07-01T00:00:00+02:00", "2026-07-02T00:00:00+02:00", "Europe/Berlin"},
		"a week":                     {Draft{Start: "2026-10-23", End: "2026-10-30"}, "2026-10-23T00:00:00+02:00", "2026-10-30T00:00:00+01:00", "Europe/Berlin"},
		"over a change of clocks":    {Draft{Start: "2026-10-24T23:00", End: "2026-10-25T07:00"}, "2026-10-24T23:00:00+02:00", "2026-10-25T07:00:00+01:00", "Europe/Berlin"},
	} {
		c.d.Title = name
		e := create(t, s, c.d)
		if e.Start != c.start || e.End != c.end || e.TimeZone != c.zone || e.Version != 1 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestCreateRefusals(t *testing.T) {
	s := open(t)
	for name, c := range map[string]struct {
		d    Draft
		text string
	}{
		"no title":             {Draft{Start: "2026-07-01"}, "title must not be empty"},
		"no end":               {Draft{Title: "x", Start: "2026-07-01T09:00"}, "give end or durationMinutes"},
		"both ends":            {Draft{Title: "x", Start: "2026-07-01T09:00", End: "2026-07-01T10:00", DurationMinutes: 5}, "cannot be combined"},
		"backwards":            {Draft{Title: "x", Start: "2026-07-01T09:00", End: "2026-07-01T08:00"}, "end must be after start"},
		"not a time":           {Draft{Title: "x", Start: "tomorrow", DurationMinutes: 5}, `not like "tomorrow"`},
		"a year off":           {Draft{Title: "x", Start: "0026-07-01"}, "years 1900 to 2200"},
		"too long":             {Draft{Title: "x", Start: "2026-07-01", End: "2028-07-01"}, "366 days"},
		"no such zone":         {Draft{Title: "x", Start: "2026-07-01", TimeZone: "Berlin"}, "Europe/Berlin"},
		"only if free, weekly": {Draft{Title: "x", Start: "2026-07-01", Recurrence: "FREQ=WEEKLY", OnlyIfFree: true}, "onlyIfFree"},
		"control characters":   {Draft{Title: "a\x00b", Start: "2026-07-01"}, "title must be one line"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Create(t.Context(), "", c.d)
			refused(t, err, CodeInvalidField, c.text)
		})
	}
	if got := list(t, s, "2026-01-01", "2027-01-01"); len(got) != 0 {
		t.Errorf("refused events are there: %+v", got)
	}
}

func TestOnlyIfFree(t *testing.T) {
	s := open(t)
	create(t, s, Draft{Title: "Weekly", Start: "2026-03-02T09:00", DurationMinutes: 60, Recurrence: "FREQ=WEEKLY"})
	book := func(start string) error {
		_, err := s.Create(t.Context(), "", Draft{Title: "Review", Start: start, DurationMinutes: 30, OnlyIfFree: true})
		return err
	}
	refused(t, book("2026-03-16T09:30"), CodeConflict, "taken by event 1")
	if err := book("2026-03-16T10:00"); err != nil {
		t.Error(err)
	}
	// Many want the same hour; one gets it.
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() { errs[i] = book("2026-04-01T15:00") })
	}
	wg.Wait()
	got := 0
	for _, err := range errs {
		if err == nil {
			got++
		}
	}
	if got != 1 {
		t.Errorf("%d bookings of one hour, want 1", got)
	}
}

func TestRemove(t *testing.T) {
	s := open(t)
	e := create(t, s, Draft{Title: "x", Start: "2026-03-02T09:00", DurationMinutes: 15, Recurrence: "FREQ=DAILY;COUNT=6"})
	remove := func(how Removal) (Removed, error) { return s.Remove(t.Context(), "", e.ID, how) }
	days := func() (out []string) {
		for _, o := range list(t, s, "2026-03-01", "2026-04-01") {
			out = append(out, o.Start[8:10])
		}
		return out
	}

	_, err := remove(Removal{})
	refused(t, err, CodeScopeRequired, "series")
	_, err = remove(Removal{Scope: "occurrence"})
	refused(t, err, CodeScopeRequired, "none was named")
	_, err = remove(Removal{Scope: "some", Occurrence: "2026-03-03T09:00:00"})
	refused(t, err, CodeInvalidField, "scope")
	_, err = remove(Removal{Scope: "occurrence", Occurrence: "next"})
	refused(t, err, CodeInvalidField, "occurrence")
	_, err = remove(Removal{Scope: "occurrence", Occurrence: "2026-03-20T09:00:00"})
	refused(t, err, CodeNotFound, "no occurrence")
	_, err = remove(Removal{Scope: "series", Version: 7})
	refused(t, err, CodeConflict, "version 1")

	for _, member := range []string{"2026-03-03T08:00:00Z", "2026-03-03T09:00"} { // cancelling twice changes nothing more
		got, err := remove(Removal{Scope: "occurrence", Occurrence: member})
		if err != nil || got.Event == nil || !cmp.Equal(got.Event.Cancelled, []string{"2026-03-03T09:00:00+01:00"}) {
			t.Errorf("removed %+v, %v", got, err)
		}
	}
	if diff := cmp.Diff([]string{"02", "04", "05", "06", "07"}, days()); diff != "" {
		t.Errorf("after one:\n%s", diff)
	}
	if got, err := remove(Removal{Scope: "series"}); err != nil || got.Event != nil {
		t.Errorf("removed the series: %+v, %v", got, err)
	}
	_, err = remove(Removal{Scope: "series"})
	refused(t, err, CodeNotFound, "does not exist")

	single := create(t, s, Draft{Title: "x", Start: "2026-03-02"})
	_, err = s.Remove(t.Context(), "", single.ID, Removal{Scope: "occurrence"})
	refused(t, err, CodeInvalidField, "recurring")
	if got, err := s.Remove(t.Context(), "", single.ID, Removal{}); err != nil || got.Removed != "series" || len(days()) != 0 {
		t.Errorf("removed %+v, %v", got, err)
	}
}

func TestIdempotencyKeys(t *testing.T) {
	s := open(t)
	d := Draft{Title: "x", Start: "2026-03-02T09:00", DurationMinutes: 15, OnlyIfFree: true}
	first, err := s.Create(t.Context(), "k", d)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Create(t.Context(), "k", d) // would be refused as taken
	if diff := cmp.Diff(first, second); err != nil || diff != "" {
		t.Errorf("repeated: %v\n%s", err, diff)
	}
	for range 2 {
		if got, err := s.Remove(t.Context(), "k", first.ID, Removal{}); err != nil || got.Removed != "series" {
			t.Errorf("removed %+v, %v", got, err)
		}
	}
}

func TestList(t *testing.T) {
	s := open(t)
	create(t, s, Draft{Title: "Stand-up", Start: "2026-03-02T09:00", DurationMinutes: 15, Recurrence: "FREQ=DAILY;COUNT=10"})
	create(t, s, Draft{Title: "Review", Location: "Café", Start: "2026-03-04T09:00", DurationMinutes: 60})
	create(t, s, Draft{Title: "Fair", Start: "2026-03-03", End: "2026-03-06"})
	for name, c := range map[string]struct {
		q    Query
		want int
	}{
		"all":               {Query{Range: Range{From: "2026-03-01", To: "2026-03-31"}}, 12},
		"text in the place": {Query{Range: Range{From: "2026-03-01", To: "2026-03-31"}, Text: "CAFÉ"}, 1},
		"one day":           {Query{Range: Range{From: "2026-03-04", To: "2026-03-05"}}, 3},
		"one day, far away": {Query{Range: Range{From: "2026-03-06", To: "2026-03-07", TimeZone: "Pacific/Honolulu"}}, 1},
	} {
		if page, err := s.List(t.Context(), c.q); err != nil || len(page.Items) != c.want {
			t.Errorf("%s: %+v, %v; want %d", name, page.Items, err, c.want)
		}
	}
	for text, r := range map[string]Range{
		"after from": {From: "2026-03-02", To: "2026-03-01"}, "two years": {From: "2026-03-02", To: "2029-03-01"},
		"from must look": {From: "now", To: "2026-03-01"}, "time zone": {From: "2026-03-02", To: "2026-03-03", TimeZone: "X/Y"},
	} {
		_, err := s.List(t.Context(), Query{Range: r})
		refused(t, err, CodeInvalidField, text)
	}
}

func TestFreeBusyFromStore(t *testing.T) {
	s := open(t)
	create(t, s, Draft{Title: "x", Start: "2026-03-02T10:00", DurationMinutes: 60, Recurrence: "FREQ=WEEKLY"})
	got, err := s.FreeBusy(t.Context(), Range{From: "2026-03-30", To: "2026-03-31"}, FreeBusyOptions{WorkingHours: &WorkingHours{From: "09:00", To: "12:00"}, SlotMinutes: 60})
	want := FreeBusy{
		Busy:  []Interval{{"2026-03-30T10:00:00+02:00", "2026-03-30T11:00:00+02:00"}},
		Free:  []Interval{{"2026-03-30T09:00:00+02:00", "2026-03-30T10:00:00+02:00"}, {"2026-03-30T11:00:00+02:00", "2026-03-30T12:00:00+02:00"}},
		Slots: []Interval{{"2026-03-30T09:00:00+02:00", "2026-03-30T10:00:00+02:00"}, {"2026-03-30T11:00:00+02:00", "2026-03-30T12:00:00+02:00"}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
