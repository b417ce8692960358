package agenda

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := OpenStore(t.Context(), filepath.Join(t.TempDir(), "calendar.db"), mustZone(t, "Europe/Berlin"), func() time.Time { return noon })
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

// refused wants an error of a code whose message holds a text.
func refused(t *testing.T, err error, code, text string) {
	t.Helper()
	if !errors.Is(err, &Error{Code: code}) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want code %s with %q", err, code, text)
	}
}

func TestCreateReadsTimes(t *testing.T) {
	s := open(t)
	for name, c := range map[string]struct {
		d                     Draft
		start, end, zone, all string
	}{
		"local time of the calendar": {Draft{Start: "2026-07-01T09:00", DurationMinutes: 30}, "2026-07-01T09:00:00+02:00", "2026-07-01T09:30:00+02:00", "Europe/Berlin", ""},
		"local time of its zone":     {Draft{Start: "2026-07-01T09:00:00", End: "2026-07-01T10:00", TimeZone: "America/New_York"}, "2026-07-01T09:00:00-04:00", "2026-07-01T10:00:00-04:00", "America/New_York", ""},
		"an instant":                 {Draft{Start: "2026-07-01T09:00:00Z", End: "2026-07-01T12:00:00+02:00"}, "2026-07-01T11:00:00+02:00", "2026-07-01T12:00:00+02:00", "Europe/Berlin", ""},
		"a day":                      {Draft{Start: "2026-07-01"}, "2026-07-01", "2026-07-02", "", "all-day"},
		"a week":                     {Draft{Start: "2026-10-23", End: "2026-10-30"}, "2026-10-23", "2026-10-30", "", "all-day"},
		"over a change of clocks":    {Draft{Start: "2026-10-24T23:00", End: "2026-10-25T07:00"}, "2026-10-24T23:00:00+02:00", "2026-10-25T07:00:00+01:00", "Europe/Berlin", ""},
	} {
		c.d.Title = name
		e := create(t, s, c.d)
		if e.Start != c.start || e.End != c.end || e.TimeZone != c.zone || e.AllDay != (c.all != "") || e.Version != 1 {
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
		"date and time":        {Draft{Title: "x", Start: "2026-07-01T09:00", End: "2026-07-02"}, "end must be a date exactly when"},
		"minutes of a day":     {Draft{Title: "x", Start: "2026-07-01", DurationMinutes: 5}, "durationMinutes is for timed"},
		"not a time":           {Draft{Title: "x", Start: "tomorrow", DurationMinutes: 5}, `not like "tomorrow"`},
		"a year off":           {Draft{Title: "x", Start: "0026-07-01"}, "years 1900 to 2200"},
		"too long":             {Draft{Title: "x", Start: "2026-07-01", End: "2028-07-01"}, "366 days"},
		"no such zone":         {Draft{Title: "x", Start: "2026-07-01", TimeZone: "Berlin"}, "Europe/Berlin"},
		"second pass":          {Draft{Title: "x", Start: "2026-10-25T01:30:00Z", DurationMinutes: 5}, "show twice"},
		"no address":           {Draft{Title: "x", Start: "2026-07-01", Attendees: []string{"bob"}}, "e-mail"},
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
	create(t, s, Draft{Title: "Weekly", Start: "2026-03-02T09:00", DurationMinutes: 60, Recurrence: "FREQ=WEEKLY", Attendees: []string{"ada@example.org"}})
	book := func(start string, who ...string) error {
		_, err := s.Create(t.Context(), "", Draft{Title: "Review", Start: start, DurationMinutes: 30, Attendees: who, OnlyIfFree: true})
		return err
	}
	refused(t, book("2026-03-16T09:30", "ada@example.org"), CodeConflict, "taken by event 1")
	refused(t, book("2026-03-16T09:30"), CodeConflict, "taken by event 1")
	if err := errors.Join(book("2026-03-16T09:30", "bob@example.org"), book("2026-03-16T10:00", "ada@example.org")); err != nil {
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

func TestUpdate(t *testing.T) {
	s := open(t)
	e := create(t, s, Draft{Title: "Stand-up", Start: "2026-03-02T09:00", DurationMinutes: 15, Recurrence: "FREQ=DAILY;COUNT=4"})
	update := func(p Patch) Event {
		t.Helper()
		out, err := s.Update(t.Context(), "", e.ID, p)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one := update(Patch{Occurrence: "2026-03-03T09:00:00", Start: new("2026-03-03T16:00"), Title: new("Late stand-up")})
	want := []Exception{{Occurrence: "2026-03-03T09:00:00", Start: "2026-03-03T16:00:00+01:00", End: "2026-03-03T16:15:00+01:00", Title: "Late stand-up"}}
	if diff := cmp.Diff(want, one.Exceptions); diff != "" || one.Version != 2 {
		t.Errorf("exceptions, version %d (-want +got):\n%s", one.Version, diff)
	}
	all := update(Patch{Version: 2, Title: new("Daily"), Location: new("Room 1"), Attendees: []string{"B@example.org", "a@example.org"}})
	if all.Title != "Daily" || !cmp.Equal(all.Attendees, []string{"a@example.org", "b@example.org"}) || len(all.Exceptions) != 1 {
		t.Errorf("updated %+v", all)
	}
	longer := update(Patch{DurationMinutes: new(30)})
	if longer.End != "2026-03-02T09:30:00+01:00" || len(longer.Exceptions) != 1 {
		t.Errorf("longer %+v", longer)
	}
	// Another hour: the keys of the members change, the exception is dropped.
	moved := update(Patch{Start: new("2026-03-02T10:00")})
	if moved.Start != "2026-03-02T10:00:00+01:00" || moved.End != "2026-03-02T10:30:00+01:00" || len(moved.Exceptions) != 0 {
		t.Errorf("moved %+v", moved)
	}
	zoned := update(Patch{TimeZone: new("America/New_York")})
	if zoned.Start != "2026-03-02T10:00:00-05:00" {
		t.Errorf("the local time did not stay: %+v", zoned)
	}
	if whole := update(Patch{Start: new("2026-03-02")}); !whole.AllDay || whole.End != "2026-03-03" {
		t.Errorf("made all-day %+v", whole)
	}
	if single := update(Patch{Recurrence: new("")}); single.Recurrence != "" || len(list(t, s, "2026-03-01", "2026-04-01")) != 1 {
		t.Errorf("made single %+v", single)
	}

	for name, c := range map[string]struct {
		id         int64
		p          Patch
		code, text string
	}{
		"old version":               {e.ID, Patch{Version: 2, Title: new("x")}, CodeConflict, "version 8"},
		"nothing there":             {99, Patch{Title: new("x")}, CodeNotFound, "99"},
		"occurrence of a single":    {e.ID, Patch{Occurrence: "2026-03-02", Title: new("x")}, CodeInvalidField, "recurring"},
		"end before start":          {e.ID, Patch{End: new("2026-03-01")}, CodeInvalidField, "after start"},
		"rule that skips the start": {e.ID, Patch{Recurrence: new("FREQ=WEEKLY;BYDAY=FR")}, CodeInvalidField, "first one after it is 2026-03-06"},
	} {
		_, err := s.Update(t.Context(), "", c.id, c.p)
		t.Run(name, func(t *testing.T) { refused(t, err, c.code, c.text) })
	}
}

func TestUpdateOneRefusals(t *testing.T) {
	s := open(t)
	e := create(t, s, Draft{Title: "x", Start: "2026-03-02T09:00", DurationMinutes: 15, Recurrence: "FREQ=WEEKLY"})
	for name, c := range map[string]struct {
		p          Patch
		code, text string
	}{
		"no such member":       {Patch{Occurrence: "2026-03-03T09:00:00", Title: new("x")}, CodeNotFound, "no occurrence"},
		"before the start":     {Patch{Occurrence: "2026-02-23T09:00:00", Title: new("x")}, CodeNotFound, "no occurrence"},
		"a date":               {Patch{Occurrence: "2026-03-09", Title: new("x")}, CodeNotFound, "no occurrence"},
		"not a key":            {Patch{Occurrence: "next", Title: new("x")}, CodeInvalidField, "occurrence field"},
		"a rule for one":       {Patch{Occurrence: "2026-03-09T09:00:00", Recurrence: new("FREQ=DAILY")}, CodeInvalidField, "whole series"},
		"all-day in timed one": {Patch{Occurrence: "2026-03-09T09:00:00", Start: new("2026-03-09")}, CodeInvalidField, "all-day"},
	} {
		_, err := s.Update(t.Context(), "", e.ID, c.p)
		t.Run(name, func(t *testing.T) { refused(t, err, c.code, c.text) })
	}
	// The start that list shows names the member too.
	if _, err := s.Update(t.Context(), "", e.ID, Patch{Occurrence: "2026-03-30T09:00:00+02:00", Title: new("y")}); err != nil {
		t.Error(err)
	}
}

func TestRemove(t *testing.T) {
	s := open(t)
	e := create(t, s, Draft{Title: "x", Start: "2026-03-02T09:00", DurationMinutes: 15, Recurrence: "FREQ=DAILY;COUNT=6"})
	remove := func(how Removal) (Removed, error) { return s.Remove(t.Context(), "", e.ID, how) }
	keys := func() (out []string) {
		for _, o := range list(t, s, "2026-03-01", "2026-04-01") {
			out = append(out, o.Occurrence[8:10])
		}
		return out
	}

	_, err := remove(Removal{})
	refused(t, err, CodeScopeRequired, "series")
	_, err = remove(Removal{Scope: "following"})
	refused(t, err, CodeScopeRequired, "none was named")
	_, err = remove(Removal{Scope: "some", Occurrence: "2026-03-03T09:00:00"})
	refused(t, err, CodeInvalidField, "scope")
	_, err = remove(Removal{Scope: "occurrence", Occurrence: "2026-03-20T09:00:00"})
	refused(t, err, CodeNotFound, "no occurrence")

	for range 2 { // cancelling twice changes nothing more
		if got, err := remove(Removal{Scope: "occurrence", Occurrence: "2026-03-03T09:00:00"}); err != nil || got.Event == nil || !got.Event.Exceptions[0].Cancelled {
			t.Errorf("removed %+v, %v", got, err)
		}
	}
	if diff := cmp.Diff([]string{"02", "04", "05", "06", "07"}, keys()); diff != "" {
		t.Errorf("after one:\n%s", diff)
	}
	if got, err := remove(Removal{Scope: "following", Occurrence: "2026-03-06T09:00:00"}); err != nil || got.Event.Recurrence != "FREQ=DAILY;UNTIL=20260306T085959" {
		t.Errorf("removed %+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"02", "04", "05"}, keys()); diff != "" {
		t.Errorf("after following:\n%s", diff)
	}
	if got, err := remove(Removal{Scope: "following", Occurrence: "2026-03-02T09:00:00"}); err != nil || got.Event != nil {
		t.Errorf("removed from the first on: %+v, %v", got, err)
	}
	_, err = remove(Removal{Scope: "series"})
	refused(t, err, CodeNotFound, "does not exist")

	single := create(t, s, Draft{Title: "x", Start: "2026-03-02"})
	_, err = s.Remove(t.Context(), "", single.ID, Removal{Scope: "occurrence"})
	refused(t, err, CodeInvalidField, "recurring")
	if got, err := s.Remove(t.Context(), "", single.ID, Removal{}); err != nil || got.Removed != "series" || len(keys()) != 0 {
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

func TestListPagesAndFilters(t *testing.T) {
	s := open(t)
	create(t, s, Draft{Title: "Stand-up", Start: "2026-03-02T09:00", DurationMinutes: 15, Recurrence: "FREQ=DAILY;COUNT=10"})
	create(t, s, Draft{Title: "Review", Location: "Café", Start: "2026-03-04T09:00", DurationMinutes: 60, Attendees: []string{"ada@example.org"}})
	create(t, s, Draft{Title: "Fair", Start: "2026-03-03", End: "2026-03-06"})
	r := Range{From: "2026-03-01", To: "2026-03-31"}
	var joined []Occurrence
	q := Query{Range: r, Limit: 5}
	for {
		page, err := s.List(t.Context(), q)
		if err != nil || page.Total != 12 {
			t.Fatalf("total %d, %v", page.Total, err)
		}
		joined = append(joined, page.Items...)
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(starts(list(t, s, r.From, r.To)), starts(joined)); diff != "" || len(joined) != 12 {
		t.Errorf("pages differ from the whole:\n%s", diff)
	}
	for name, c := range map[string]struct {
		q    Query
		want int
	}{
		"text in the place": {Query{Range: r, Text: "CAFÉ"}, 1},
		"nobody's":          {Query{Range: r, Attendee: "bob@example.org"}, 11},
		"ada's":             {Query{Range: r, Attendee: "Ada@example.org"}, 12},
		"one day":           {Query{Range: Range{From: "2026-03-04", To: "2026-03-05"}}, 3},
		"one day, far away": {Query{Range: Range{From: "2026-03-04", To: "2026-03-05", TimeZone: "Pacific/Honolulu"}}, 2},
	} {
		if page, err := s.List(t.Context(), c.q); err != nil || page.Total != c.want {
			t.Errorf("%s: %d, %v; want %d", name, page.Total, err, c.want)
		}
	}
	_, err := s.List(t.Context(), Query{Range: Range{From: "2026-03-01", To: "2026-03-30"}, Cursor: "e30"})
	refused(t, err, CodeInvalidCursor, "cursor")
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
