package mcp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTheOlderHandshakeIsKept: the next process does not wait for an answer that does not come,
// unless the server is another, a day has passed, or the older handshake has failed.
func TestTheOlderHandshakeIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := filepath.Join(dir, "old.older")
	begin := func(change func(*Server)) string {
		t.Helper()
		server, seen := seeing(t, self(t, "old", "ignores discover"))
		change(&server)
		o := impatient()
		o.PinDir = dir
		w := connect(t, o, server)
		w.until(t, func() bool { return w.has("t") })
		sent := strings.Fields(seen())
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return sent[0]
	}
	same := func(*Server) {}
	for _, step := range []struct {
		name, want string
		change     func(*Server)
	}{
		{"first", methodDiscover, same},
		{"next", methodInitialize, same},
		{"another server", methodDiscover, func(s *Server) { s.Args = []string{"--other"} }},
		{"the other again", methodInitialize, func(s *Server) { s.Args = []string{"--other"} }},
		{"the first again", methodDiscover, same},
		{"of the newer protocol now", methodInitialize, func(s *Server) { s.Env[roleKey] = "newer" }},
	} {
		if got := begin(step.change); got != step.want {
			t.Fatalf("%s: begun with %s, want %s", step.name, got, step.want)
		}
	}
	if _, err := os.Stat(kept); !os.IsNotExist(err) {
		t.Errorf("what has failed is still kept: %v", err)
	}
	begin(same)
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	year := time.Now().Format("2006")
	if err := os.WriteFile(kept, []byte(strings.Replace(string(text), `"until":"`+year, `"until":"1999`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := begin(same); got != methodDiscover {
		t.Errorf("after a day it is begun with %s", got)
	}
}

func init() {
	// tired ends at server/discover, and does not answer the first initialize.
	ends := picky(func(*raw, request) (bool, error) { return false, nil })
	badServers["tired"] = func(r *raw) error {
		before, err := os.ReadFile(os.Getenv(seenKey))
		if err == nil && string(before) == methodDiscover+"\n" {
			if _, err := r.in.ReadBytes('\n'); err != nil {
				return err
			}
			return errors.Join(see(methodInitialize), hang())
		}
		return ends(r)
	}
}

// TestASecondStartThatComesTooLate: a program that ends at the first message, and has no time
// left at its second start, is asked in the older way at once by the next attempt.
func TestASecondStartThatComesTooLate(t *testing.T) {
	t.Parallel()
	server, seen := seeing(t, self(t, "slow", "tired"))
	server.ConnectTimeout = 2 * time.Second
	w := connect(t, impatient(), server)
	w.until(t, func() bool { return w.has("t") })
	if got, want := seen(), "server/discover initialize initialize notifications/initialized tools/list"; got != want {
		t.Errorf("the server was sent\n%s, want\n%s", got, want)
	}
}
