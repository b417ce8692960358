package mcp

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func init() {
	// moody serves, or says why not, as a file has it.
	badServers["moody"] = func(r *raw) error {
		mood, err := os.ReadFile(os.Getenv(seenKey))
		if err != nil {
			return err
		}
		if string(mood) != "good" {
			return errors.New(string(mood))
		}
		return listOf(oneTool, `{"content":[]}`)(r)
	}
}

// lines is a log as a channel of its lines.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(bytes.Clone(p))
	return len(p), nil
}

// TestAServerThatStaysDownWarnsOnce: the log warns when a server goes down, and when the cause
// is another. Retries are for those who debug, and it says when the server is back.
func TestAServerThatStaysDownWarnsOnce(t *testing.T) {
	t.Parallel()
	mood := filepath.Join(t.TempDir(), "mood")
	set := func(text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(mood+".new", []byte(text), 0o600), os.Rename(mood+".new", mood)); err != nil {
			t.Fatal(err)
		}
	}
	set("no licence until 11:07:31")
	server := self(t, "moody", "moody")
	server.Env[seenKey] = mood
	log := make(lines, 10_000)
	next := func(part string) string {
		t.Helper()
		for {
			select {
			case line := <-log:
				if strings.Contains(line, "an MCP server is ") && strings.Contains(line, part) {
					return line
				}
			case <-time.After(time.Minute):
				t.Fatalf("the log does not go on with %q", part)
			}
		}
	}
	want := func(line, level string) {
		t.Helper()
		if !strings.Contains(line, "level="+level+" ") {
			t.Errorf("want level %s: %s", level, line)
		}
	}
	o := Options{MaxDelay: 2 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	w := connect(t, o, server)
	want(next("not connected"), "WARN")
	for range 3 {
		want(next("not connected"), "DEBUG")
	}
	set("no licence until 11:07:59") // the same cause
	want(next("11:07:59"), "DEBUG")
	set("no memory")
	want(next("no memory"), "WARN")
	want(next("no memory"), "DEBUG")
	set("good")
	want(next("is connected"), "INFO")
	w.until(t, func() bool { return w.has("t") })
	set("no memory")
	k := w.keepers[0]
	k.mu.Lock()
	program := k.conn.program
	k.mu.Unlock()
	if err := program.stop(0); err != nil {
		t.Fatal(err)
	}
	want(next("not connected"), "WARN") // that it went down
	want(next("no memory"), "WARN")     // and why it stays so
	want(next("no memory"), "DEBUG")
}
