package host_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/plugins"
)

// logged is a log that a test reads while it is written.
type logged struct {
	mu      sync.Mutex
	b       bytes.Buffer
	written chan struct{} // closed with the next write, if someone waits for it
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written != nil {
		close(l.written)
		l.written = nil
	}
	return l.b.Write(p)
}

// has reports whether the log says part, or returns what is closed with the next write.
func (l *logged) has(part string) (bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written == nil {
		l.written = make(chan struct{})
	}
	return strings.Contains(l.b.String(), part), l.written
}

// wants waits until the log says all parts: what a plugin prints arrives apart from its answers.
func (l *logged) wants(t *testing.T, parts ...string) {
	t.Helper()
	late := time.After(time.Minute)
	for _, part := range parts {
		for has, written := l.has(part); !has; has, written = l.has(part) {
			select {
			case <-written:
			case <-late:
				t.Fatalf("the log does not say %q", part)
			}
		}
	}
}

// rudeHost is a host with the plugin rude, in a mode, and its log.
func rudeHost(t *testing.T, mode string) (*host.Host, *logged) {
	t.Helper()
	dir := pluginDir(t, "rude")
	if err := os.WriteFile(filepath.Join(dir, "rude", "rude.mode"), []byte(mode), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &logged{}
	return start(t, host.Config{Plugins: host.PluginConfig{Dir: dir}, Logger: slog.New(slog.NewTextHandler(log, nil)), DrainTimeout: soon}), log
}

// TestAPanicNamesItsPluginAndLeavesItsStackInTheLog: the program learns who failed,
// the operator where.
func TestAPanicNamesItsPluginAndLeavesItsStackInTheLog(t *testing.T) {
	t.Parallel()
	h, log := rudeHost(t, "")
	r := exec(h, `try { await Rude.panic() } catch (e) { return [e.code, e.message] }`)
	if !strings.HasPrefix(string(r.Value), `["plugin_panic",`) || !strings.Contains(string(r.Value), "rude") || strings.Contains(string(r.Value), "goroutine") {
		t.Errorf("got %s", show(r))
	}
	wantValue(t, exec(h, `return await tools.rude_echo({value: 1}).then(() => "well")`), `"well"`)
	log.wants(t, "plugin=rude", "goroutine", "tools.go")
}

// TestACrashLoopEnds: the plugin is brought back ever more slowly, then no more, and
// nothing of it is left in what programs see.
func TestACrashLoopEnds(t *testing.T) {
	t.Parallel()
	h, _ := rudeHost(t, "")
	for {
		st := h.Plugins()[0]
		if st.State == plugins.StateDisabled {
			if st.Restarts != 5 || !strings.Contains(st.Reason, "5 restarts") {
				t.Errorf("%+v", st)
			}
			break
		}
		exec(h, attempt+`return await attempt(() => tools.call("rude_crash", {how: "exit"}))`)
	}
	for string(exec(h, `return ALL_TOOLS.length`).Value) != "0" { // what programs see follows the state
	}
	wantValue(t, exec(h, attempt+`return [typeof Rude, ALL_TOOLS.length, (await attempt(() => tools.call("rude_echo", {})))[0]]`), `["undefined",0,"unknown_tool"]`)
	if err := h.ReloadPlugin(t.Context(), "rude"); err != nil {
		t.Fatal(err)
	}
	wantValue(t, exec(h, `return typeof Rude`), `"object"`)
}

// TestStrayPrintsAreNamed: a plugin that prints where the handshake belongs is told
// so, in the reason why it does not run.
func TestStrayPrintsAreNamed(t *testing.T) {
	t.Parallel()
	h, log := rudeHost(t, "garbage")
	st := h.Plugins()[0]
	if len(st.Tools) > 0 || !strings.Contains(st.Reason, "on standard output, where the handshake belongs") {
		t.Errorf("%+v", st)
	}
	log.wants(t, "where the handshake belongs")
}

// TestALogFloodIsCapped: what is dropped is counted, and the plugin is not any the
// worse.
func TestALogFloodIsCapped(t *testing.T) {
	t.Parallel()
	h, log := rudeHost(t, "")
	wantOK(t, h, `await Rude.floodLogs({count: 50000}); return 1`)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	log.wants(t, "plugin=rude", "lines were dropped")
}
