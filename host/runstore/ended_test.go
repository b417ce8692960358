package runstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

func ended(id string, result string) *runstore.Ended {
	return &runstore.Ended{ID: id, Session: codemode.Session{SessionID: "s"}, Expires: time.Now().Add(time.Hour), Result: []byte(result)}
}

// TestAnEndedRunIsSealed: an altered result is not returned, and its run does not
// come back.
func TestAnEndedRunIsSealed(t *testing.T) {
	dir := t.TempDir()
	s, err := runstore.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := runstore.Alone(s).End(t.Context(), ended("a", `{"status":"completed"}`)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "a.end")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ended(t.Context(), "a"); !errors.Is(err, runstore.ErrCorrupt) {
		t.Errorf("Ended: %v, want ErrCorrupt", err)
	}
	if _, err := s.Get(t.Context(), "a"); !errors.Is(err, runstore.ErrEnded) {
		t.Errorf("Get: %v, want ErrEnded", err)
	}
}
