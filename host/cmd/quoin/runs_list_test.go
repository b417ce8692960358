package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/statetest"
	"github.com/quoinhq/quoin/host/runstore"
)

// TestRunsListHasWhatIsDone: a run that has ended is listed while its result waits, for its
// session and for all.
func TestRunsListHasWhatIsDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runs := statetest.Open(t, dir)
	const id = "run_00000000000000000000000000000001"
	s := codemode.Session{SessionID: "ada"}
	c, err := runs.Create(t.Context(), &runstore.Record{ID: id, Format: runstore.FormatVersion, Session: s, Generation: 1, Expires: time.Now().Add(time.Hour)}, 0)
	if err == nil {
		err = c.End(t.Context(), &runstore.Ended{ID: id, Session: s, Expires: time.Now().Add(time.Hour), Result: []byte(`{}`)})
		c.Release()
	}
	if err != nil {
		t.Fatal(err)
	}
	for session, want := range map[string]bool{"": true, "ada": true, "bob": false} {
		var out, stderr bytes.Buffer
		if code := run(t.Context(), []string{"runs", "list", "--state", dir, "--config", "none", "--session", session}, strings.NewReader(""), &out, &stderr); code != 0 {
			t.Fatalf("exit code %d: %s", code, &stderr)
		}
		if got := strings.Contains(out.String(), id+"  done    result_kept  -    in "); got != want {
			t.Errorf("session %q: printed\n%s", session, &out)
		}
	}
}
