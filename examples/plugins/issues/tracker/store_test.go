package tracker_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/examples/plugins/issues/tracker"
)

// ticking returns a clock that moves one second at every look.
func ticking() func() time.Time {
	var mu sync.Mutex
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
}

func open(t *testing.T) *tracker.Store {
	t.Helper()
	s, err := tracker.OpenStore(t.Context(), filepath.Join(t.TempDir(), "issues.db"), ticking())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func create(t *testing.T, s *tracker.Store, d tracker.Draft) tracker.Issue {
	t.Helper()
	i, err := s.Create(t.Context(), tracker.Act{Author: "ada"}, d)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// code returns the code of a refusal, "" for none.
func code(t *testing.T, err error) string {
	t.Helper()
	var e *tracker.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("not a refusal: %v", err)
	}
	if e == nil {
		return ""
	}
	return e.Code
}

func TestLife(t *testing.T) {
	s, act := open(t), tracker.Act{Author: "bob"}
	made := create(t, s, tracker.Draft{Title: " Crash on save ", Body: "It crashes.", Labels: []string{"UI", "bug", "Bug "}})
	want := tracker.Issue{ID: 1, Title: "Crash on save", State: "open", Labels: []string{"bug", "ui"}, Author: "ada", Version: 1, CreatedAt: made.CreatedAt, UpdatedAt: made.CreatedAt}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}

	edited, err := s.Update(t.Context(), act, 1, tracker.Patch{Version: 1, Assignee: new("bob"), AddLabels: []string{"p1"}, RemoveLabels: []string{"ui"}})
	if err != nil || edited.Version != 2 || edited.Assignee != "bob" || !cmp.Equal(edited.Labels, []string{"bug", "p1"}) {
		t.Errorf("edited %+v, %v", edited, err)
	}
	if _, err := s.Comment(t.Context(), act, 1, "On it."); err != nil {
		t.Error(err)
	}
	closed, err := s.CloseIssue(t.Context(), act, 1, "")
	if err != nil || closed.State != "closed" || closed.CloseReason != "completed" || closed.ClosedAt == nil || closed.Version != 3 {
		t.Errorf("closed %+v, %v", closed, err)
	}
	again, err := s.CloseIssue(t.Context(), act, 1, "completed")
	if err != nil || again.Version != 3 {
		t.Errorf("closed again %+v, %v; want no change", again, err)
	}
	if _, err := s.CloseIssue(t.Context(), act, 1, "duplicate"); code(t, err) != tracker.CodeAlreadyClosed {
		t.Errorf("closed for another reason: %v", err)
	}
	reopened, err := s.Update(t.Context(), act, 1, tracker.Patch{Version: 3, State: new("open"), Labels: []string{}})
	if err != nil || reopened.State != "open" || reopened.CloseReason != "" || reopened.ClosedAt != nil || len(reopened.Labels) != 0 {
		t.Errorf("reopened %+v, %v", reopened, err)
	}
	got, err := s.Get(t.Context(), 1)
	if err != nil || got.Body != "It crashes." || got.Comments != 1 || len(got.Thread) != 1 || got.Thread[0].Author != "bob" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestConflict(t *testing.T) {
	s := open(t)
	create(t, s, tracker.Draft{Title: "a"})
	if _, err := s.Comment(t.Context(), tracker.Act{}, 1, "a comment is no conflict"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	results := make([]error, 8)
	for n := range results {
		wg.Go(func() {
			_, results[n] = s.Update(t.Context(), tracker.Act{}, 1, tracker.Patch{Version: 1, Title: new(fmt.Sprint("title ", n))})
		})
	}
	wg.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
			continue
		}
		var e *tracker.Error
		if !errors.As(err, &e) || e.Code != tracker.CodeConflict || e.Details["currentVersion"] != int64(2) || !strings.Contains(e.Message, "version 2") {
			t.Errorf("refusal %+v does not say the current version", err)
		}
	}
	if won != 1 {
		t.Errorf("%d edits of one version succeeded, want 1", won)
	}
}

func TestIdempotencyKeys(t *testing.T) {
	s := open(t)
	act := tracker.Act{Author: "ada", Key: "k1"}
	first, err := s.Create(t.Context(), act, tracker.Draft{Title: "a"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Create(t.Context(), act, tracker.Draft{Title: "a"})
	if diff := cmp.Diff(first, second); diff != "" || err != nil {
		t.Errorf("repeated create: %v\n%s", err, diff)
	}
	for range 2 { // the same key means something else to another verb
		if _, err := s.Comment(t.Context(), act, first.ID, "hello"); err != nil {
			t.Fatal(err)
		}
		if i, err := s.Update(t.Context(), act, first.ID, tracker.Patch{Version: 1, Title: new("b")}); err != nil || i.Version != 2 {
			t.Errorf("repeated update: %+v, %v", i, err)
		}
	}
	if got, err := s.Get(t.Context(), first.ID); err != nil || got.Comments != 1 || got.Version != 2 {
		t.Errorf("after repeats %+v, %v", got, err)
	}
	if page, err := s.List(t.Context(), tracker.Filter{}); err != nil || page.Total != 1 {
		t.Errorf("%d issues, %v; want 1", page.Total, err)
	}
}

func TestRefusals(t *testing.T) {
	s, long := open(t), strings.Repeat("x", 20_001)
	create(t, s, tracker.Draft{Title: "a"})
	many := make([]string, 21)
	for n := range many {
		many[n] = fmt.Sprint("label", n)
	}
	draft := func(d tracker.Draft) func() error {
		return func() error { _, err := s.Create(t.Context(), tracker.Act{}, d); return err }
	}
	patch := func(id int64, p tracker.Patch) func() error {
		return func() error { _, err := s.Update(t.Context(), tracker.Act{}, id, p); return err }
	}
	list := func(f tracker.Filter) func() error {
		return func() error { _, err := s.List(t.Context(), f); return err }
	}
	for name, c := range map[string]struct {
		do    func() error
		code  string
		field string
	}{
		"no title":          {draft(tracker.Draft{Title: " \t"}), tracker.CodeInvalidField, "title"},
		"long title":        {draft(tracker.Draft{Title: long}), tracker.CodeInvalidField, "title"},
		"two-line title":    {draft(tracker.Draft{Title: "a\nb"}), tracker.CodeInvalidField, "title"},
		"long body":         {draft(tracker.Draft{Title: "a", Body: long}), tracker.CodeInvalidField, "body"},
		"empty label":       {draft(tracker.Draft{Title: "a", Labels: []string{""}}), tracker.CodeInvalidField, "labels"},
		"many labels":       {draft(tracker.Draft{Title: "a", Labels: many}), tracker.CodeInvalidField, "labels"},
		"long assignee":     {draft(tracker.Draft{Title: "a", Assignee: long}), tracker.CodeInvalidField, "assignee"},
		"no version":        {patch(1, tracker.Patch{Title: new("b")}), tracker.CodeInvalidField, "version"},
		"empty patch":       {patch(1, tracker.Patch{Version: 1}), tracker.CodeInvalidField, "patch"},
		"bad new title":     {patch(1, tracker.Patch{Version: 1, Title: new("")}), tracker.CodeInvalidField, "title"},
		"close by patch":    {patch(1, tracker.Patch{Version: 1, State: new("closed")}), tracker.CodeInvalidField, "state"},
		"labels two ways":   {patch(1, tracker.Patch{Version: 1, Labels: []string{"a"}, AddLabels: []string{"b"}}), tracker.CodeInvalidField, "labels"},
		"update of nothing": {patch(9, tracker.Patch{Version: 1, Title: new("b")}), tracker.CodeNotFound, ""},
		"get of nothing":    {func() error { _, err := s.Get(t.Context(), 9); return err }, tracker.CodeNotFound, ""},
		"comment on nothing": {func() error { _, err := s.Comment(t.Context(), tracker.Act{}, 9, "x"); return err },
			tracker.CodeNotFound, ""},
		"empty comment": {func() error { _, err := s.Comment(t.Context(), tracker.Act{}, 1, " "); return err },
			tracker.CodeInvalidField, "body"},
		"unknown reason": {func() error { _, err := s.CloseIssue(t.Context(), tracker.Act{}, 1, "bored"); return err },
			tracker.CodeInvalidField, "reason"},
		"close of nothing": {func() error { _, err := s.CloseIssue(t.Context(), tracker.Act{}, 9, ""); return err },
			tracker.CodeNotFound, ""},
		"unknown state":    {list(tracker.Filter{State: "done"}), tracker.CodeInvalidField, "state"},
		"unknown sort":     {list(tracker.Filter{Sort: "id; drop table issues"}), tracker.CodeInvalidField, "sort"},
		"unknown order":    {list(tracker.Filter{Order: "up"}), tracker.CodeInvalidField, "order"},
		"bad since":        {list(tracker.Filter{Since: "yesterday"}), tracker.CodeInvalidField, "since"},
		"limit too big":    {list(tracker.Filter{Limit: 101}), tracker.CodeInvalidField, "limit"},
		"negative limit":   {list(tracker.Filter{Limit: -1}), tracker.CodeInvalidField, "limit"},
		"two assignees":    {list(tracker.Filter{Assignee: "ada", Unassigned: true}), tracker.CodeInvalidField, "unassigned"},
		"many words":       {list(tracker.Filter{Text: strings.Repeat("a ", 11)}), tracker.CodeInvalidField, "text"},
		"damaged cursor":   {list(tracker.Filter{Cursor: "%%"}), tracker.CodeInvalidCursor, ""},
		"forged cursor":    {list(tracker.Filter{Cursor: "e30"}), tracker.CodeInvalidCursor, ""},
		"cursor not JSON":  {list(tracker.Filter{Cursor: "AAAA"}), tracker.CodeInvalidCursor, ""},
		"several problems": {list(tracker.Filter{State: "x", Sort: "y"}), tracker.CodeInvalidField, "sort"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.do()
			if got := code(t, err); got != c.code {
				t.Fatalf("code %q, want %q (%v)", got, c.code, err)
			}
			if c.field != "" && !strings.Contains(err.Error(), c.field+" ") {
				t.Errorf("message %q does not name %s", err, c.field)
			}
		})
	}
	if got, err := s.Get(t.Context(), 1); err != nil || got.Version != 1 || got.Comments != 0 {
		t.Errorf("a refused edit changed %+v, %v", got, err)
	}
}
