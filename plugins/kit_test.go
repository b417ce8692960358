//go:build linux

package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// install makes a plugin folder in dir in which the test binary plays a role.
func install(t testing.TB, dir, id, role string) Candidate {
	t.Helper()
	installed := filepath.Join(dir, id)
	writeFile(t, filepath.Join(installed, manifest.Name),
		fmt.Sprintf(`{"id": %q, "version": "1.0.0", "protocol": 2, "command": "./plugin"}`, id))
	writeFile(t, filepath.Join(installed, roleFile), role)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(installed, "plugin")); err != nil {
		t.Fatal(err)
	}
	return Find(installed)
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// shortDir returns a private folder with a path that leaves room for a socket's name.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "q")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// testOptions are options that write nothing outside the test.
func testOptions(t testing.TB) Options {
	t.Helper()
	return Options{
		DataDir: filepath.Join(shortDir(t), "data"), RunDir: filepath.Join(shortDir(t), "run"),
		Logger: slog.New(slog.DiscardHandler),
	}
}

// startRole starts a plugin in a role and closes it when the test ends.
func startRole(t testing.TB, role string, o Options) *Process {
	t.Helper()
	p, err := Start(t.Context(), install(t, shortDir(t), "fix", role), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return p
}

// startFails starts a plugin that must not come up and returns the error.
func startFails(t testing.TB, role string, o Options) *StartError {
	t.Helper()
	err := notStarted(t, install(t, shortDir(t), "fix", role), o)
	start, ok := err.(*StartError)
	if !ok {
		t.Fatalf("Start returned a %T: %v", err, err)
	}
	if left := entries(t, o.RunDir); len(left) > 0 {
		t.Errorf("a failed start left %v behind", left)
	}
	return start
}

// notStarted is the error of a start that must fail. A plugin that comes up all the
// same is ended: while it lives it keeps the package from ending.
func notStarted(t testing.TB, f Candidate, o Options) error {
	t.Helper()
	p, err := Start(t.Context(), f, o)
	if err == nil {
		t.Fatalf("the plugin came up; ended: %v", p.Close())
	}
	return err
}

// entries lists a run folder without its lock.
func entries(t testing.TB, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		if e.Name() != ".lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

func call(tool string, input any) CallRequest {
	b, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return CallRequest{Tool: tool, CallID: "c1", IdempotencyKey: "k1", Run: testRun, Input: b}
}

var testRun = namespaces.RunContext{AgentID: "a", SessionKey: "k", SessionID: "s", RunID: "r"}

// wantError checks the kind and code of a call's error and that its message has
// every given part.
func wantError(t testing.TB, err error, kind protocol.Kind, code string, parts ...string) {
	t.Helper()
	e, ok := err.(*protocol.Error)
	if !ok {
		t.Fatalf("got a %T (%v), want a *protocol.Error", err, err)
	}
	if e.Kind != kind || e.Code != code {
		t.Errorf("got kind %v, code %q (%s), want %v, %q", e.Kind, e.Code, e.Message, kind, code)
	}
	wantParts(t, e.Message, parts...)
}

func wantParts(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
}

// recorder is a slog handler that keeps what it gets.
type recorder struct {
	told    func() // after every record; nil: nothing
	mu      sync.Mutex
	records []slog.Record
	with    []slog.Attr
	parent  *recorder
}

func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }

func (r *recorder) Handle(_ context.Context, rec slog.Record) error {
	root := r
	for root.parent != nil {
		rec.AddAttrs(root.with...)
		root = root.parent
	}
	root.mu.Lock()
	root.records = append(root.records, rec)
	root.mu.Unlock()
	if root.told != nil {
		root.told()
	}
	return nil
}

func (r *recorder) WithAttrs(a []slog.Attr) slog.Handler { return &recorder{parent: r, with: a} }
func (r *recorder) WithGroup(string) slog.Handler        { return r }

// lines are the records as "LEVEL message key=value …".
func (r *recorder) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, rec := range r.records {
		line := rec.Level.String() + " " + rec.Message
		rec.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
		out = append(out, line)
	}
	return out
}

// stillClock stands still. Its timers fire when a test says so.
type stillClock struct {
	mu     sync.Mutex
	now    time.Time
	timers chan timer
}

type timer struct {
	d time.Duration
	c chan time.Time
}

func newStillClock() *stillClock {
	return &stillClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), timers: make(chan timer, 64)}
}

func (c *stillClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stillClock) After(d time.Duration) (<-chan time.Time, func()) {
	t := timer{d: d, c: make(chan time.Time, 1)}
	c.timers <- t
	return t.c, func() {}
}

// advance moves the clock without firing anything.
func (c *stillClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fire waits for a timer of length d to be set and lets it fire.
func (c *stillClock) fire(t testing.TB, d time.Duration) {
	t.Helper()
	c.take(t, d).c <- c.Now()
}

// take waits for a timer of length d to be set, and leaves out those before it.
func (c *stillClock) take(t testing.TB, d time.Duration) timer {
	t.Helper()
	for {
		select {
		case timer := <-c.timers:
			if timer.d == d {
				return timer
			}
		case <-t.Context().Done():
			t.Fatalf("no timer of %v was set", d)
		}
	}
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// sumA is a checksum of nothing in particular.
var sumA = strings.Repeat("a", 64)

func testKey(t testing.TB) trust.PrivateKey {
	t.Helper()
	k, err := trust.NewPrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}
