package tracker_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quoinhq/quoin/examples/plugins/issues/tracker"
)

// shelf fills a store with five issues, 1 to 5; 5 is closed, 1 changed last.
func shelf(t *testing.T) *tracker.Store {
	t.Helper()
	s := open(t)
	create(t, s, tracker.Draft{Title: "Crash on save", Body: "Ärger mit der Datei", Labels: []string{"bug", "ui"}, Assignee: "ada"})
	create(t, s, tracker.Draft{Title: "Dark mode", Labels: []string{"ui"}, Assignee: "bob"})
	create(t, s, tracker.Draft{Title: "crash on 100% load", Labels: []string{"bug", "backend"}})
	create(t, s, tracker.Draft{Title: "Write the manual", Labels: []string{"docs"}, Assignee: "ada"})
	create(t, s, tracker.Draft{Title: "Old idea"})
	if _, err := s.CloseIssue(t.Context(), tracker.Act{}, 5, "not_planned"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Comment(t.Context(), tracker.Act{}, 1, "any news?"); err != nil {
		t.Fatal(err)
	}
	return s
}

func ids(page tracker.Page) []int64 {
	out := make([]int64, len(page.Items))
	for n, i := range page.Items {
		out[n] = i.ID
	}
	return out
}

func TestFilters(t *testing.T) {
	s := shelf(t)
	for name, c := range map[string]struct {
		f    tracker.Filter
		want []int64
	}{
		"open by last change":  {tracker.Filter{}, []int64{1, 4, 3, 2}},
		"all by creation":      {tracker.Filter{State: "all", Sort: "created", Order: "asc"}, []int64{1, 2, 3, 4, 5}},
		"closed":               {tracker.Filter{State: "closed"}, []int64{5}},
		"by title":             {tracker.Filter{Sort: "title"}, []int64{3, 1, 2, 4}},
		"by title, backwards":  {tracker.Filter{Sort: "title", Order: "desc"}, []int64{4, 2, 1, 3}},
		"all labels":           {tracker.Filter{Labels: []string{"BUG", "ui"}}, []int64{1}},
		"any label":            {tracker.Filter{AnyLabels: []string{"ui", "docs"}}, []int64{1, 4, 2}},
		"all and any":          {tracker.Filter{Labels: []string{"bug"}, AnyLabels: []string{"backend", "docs"}}, []int64{3}},
		"assignee":             {tracker.Filter{Assignee: "ada"}, []int64{1, 4}},
		"unassigned":           {tracker.Filter{Unassigned: true}, []int64{3}},
		"words of title":       {tracker.Filter{Text: "ON crash"}, []int64{1, 3}},
		"folded beyond ASCII":  {tracker.Filter{Text: "ärger"}, []int64{1}},
		"percent is no joker":  {tracker.Filter{Text: "100%"}, []int64{3}},
		"quote is no SQL":      {tracker.Filter{Text: "' or 1=1 --"}, []int64{}},
		"since a moment":       {tracker.Filter{State: "all", Since: "2026-03-01T09:00:06Z"}, []int64{1, 5}},
		"since in another way": {tracker.Filter{State: "all", Since: "2026-03-01T11:00:06+02:00"}, []int64{1, 5}},
		"since a date":         {tracker.Filter{Since: "2026-03-02"}, []int64{}},
	} {
		t.Run(name, func(t *testing.T) {
			page, err := s.List(t.Context(), c.f)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, ids(page)); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
			if page.Total != len(c.want) || page.NextCursor != "" {
				t.Errorf("total %d, cursor %q", page.Total, page.NextCursor)
			}
		})
	}
}

func TestCursorBelongsToFilter(t *testing.T) {
	s := shelf(t)
	page, err := s.List(t.Context(), tracker.Filter{Limit: 2})
	if err != nil || page.NextCursor == "" || page.Total != 4 {
		t.Fatalf("%+v, %v", page, err)
	}
	for _, other := range []tracker.Filter{{State: "all"}, {Sort: "title"}, {Order: "asc"}, {Text: "crash"}, {Labels: []string{"ui"}}} {
		other.Cursor = page.NextCursor
		if _, err := s.List(t.Context(), other); code(t, err) != tracker.CodeInvalidCursor {
			t.Errorf("cursor accepted with %+v: %v", other, err)
		}
	}
	if next, err := s.List(t.Context(), tracker.Filter{Limit: 3, Cursor: page.NextCursor}); err != nil || len(next.Items) != 2 {
		t.Errorf("another page size: %+v, %v", next, err)
	}
}

// Pages of any size, in any order, joined together are the whole list, also
// when issues are created and closed between two pages.
func TestPagesJoin(t *testing.T) {
	titles := rapid.SampledFrom([]string{"a", "A", "b", "same", "Same", "z"})
	rapid.Check(t, func(r *rapid.T) {
		s := open(t)
		start := rapid.IntRange(0, 12).Draw(r, "issues")
		for range start {
			create(t, s, tracker.Draft{Title: titles.Draw(r, "title")})
		}
		f := tracker.Filter{
			Sort:  rapid.SampledFrom([]string{"updated", "created", "title"}).Draw(r, "sort"),
			Order: rapid.SampledFrom([]string{"asc", "desc"}).Draw(r, "order"),
			State: "all",
			Limit: rapid.IntRange(1, 5).Draw(r, "limit"),
		}
		seen := map[int64]bool{}
		for pages := 0; ; pages++ {
			page, err := s.List(t.Context(), f)
			if err != nil {
				r.Fatal(err)
			}
			for _, i := range page.Items {
				if seen[i.ID] {
					r.Fatalf("issue %d twice", i.ID)
				}
				seen[i.ID] = true
			}
			if pages < 3 && rapid.Bool().Draw(r, "disturb") {
				create(t, s, tracker.Draft{Title: fmt.Sprint(titles.Draw(r, "late title"))})
			}
			if f.Cursor = page.NextCursor; f.Cursor == "" {
				break
			}
		}
		for id := range start {
			if !seen[int64(id+1)] {
				r.Fatalf("issue %d on no page", id+1)
			}
		}
	})
}
