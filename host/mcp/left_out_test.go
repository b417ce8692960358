package mcp

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/internal/openapi"
)

// TestLeftOut: every reason is there. Operations that are not
// permitted are not named, and a path that could not be read is.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	l := &listing{server: &Server{Name: "api", Allow: []string{"op*", "bad"}}, offered: pinnedTools{}}
	doc := &openapi.Document{LeftOut: []openapi.LeftOut{{Name: "bad", Reason: "it is odd"}, {Name: "denied", Reason: "it is odd"}, {Name: "/lost", Reason: "gone", Reference: "x.yml"}}}
	for i := range 7 {
		doc.LeftOut = append(doc.LeftOut, openapi.LeftOut{Name: fmt.Sprint("op", i), Reason: "gone"})
	}
	l.described(&described{doc: doc})
	want := []LeftOut{{Reason: "it is odd", Count: 1, Tools: []string{"bad"}}, {Reason: "gone", Count: 8, Tools: []string{"/lost (x.yml)", "op0", "op1", "op2", "op3"}}}
	if diff := cmp.Diff(want, l.left); diff != "" {
		t.Error(diff)
	}
	for i := range 2 * maxReasons {
		l.leaveOut("many", fmt.Sprint("reason ", i))
	}
	if last := l.left[len(l.left)-1]; len(l.left) > maxReasons || last.Count <= maxReasons || !strings.Contains(last.Reason, "too many reasons") {
		t.Errorf("%d reasons, %+v", len(l.left), last)
	}
}

// TestLeftOutIsLoggedOnce: a list that says the same again, also after a reconnect, says
// nothing new.
func TestLeftOutIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	k := &keeper{standing: &standing{peer: &peer{log: slog.New(slog.NewTextHandler(&out, nil))}}}
	for _, left := range [][]LeftOut{nil, {{Reason: "gone", Count: 1, Tools: []string{"a"}}}, {{Reason: "gone", Count: 1, Tools: []string{"a"}}}} {
		k.noteLeftOut(left)
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "reason=gone count=1 tools=[a] reasons=1") {
		t.Error(got)
	}
	k.noteLeftOut(make([]LeftOut, 3*maxListWarnings))
	if lines := strings.Count(out.String(), "\n"); lines != 1+maxListWarnings {
		t.Errorf("%d lines", lines)
	}
}
