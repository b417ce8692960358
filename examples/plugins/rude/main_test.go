package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

// TestMain lets the test binary be the plugin: nothing is built.
func TestMain(m *testing.M) {
	if os.Getenv(protocol.CookieKey) != "" || os.Getenv(grandchildKey) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// install makes a plugin folder in which the test binary plays rude in a mode.
func install(t *testing.T, mode string) plugins.Candidate {
	t.Helper()
	dir := filepath.Join(shortDir(t), "rude")
	manifest, err := os.ReadFile("plugin.json")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "plugin.json"), manifest, 0o600), os.Symlink(self, filepath.Join(dir, "rude")))
	if mode != "" {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, modeFile), []byte(mode+"\n"), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return plugins.Find(dir)
}

// shortDir leaves room for the name of a socket.
func shortDir(t *testing.T) string {
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

func start(t *testing.T, mode string, config any) (*plugins.Process, error) {
	t.Helper()
	o := plugins.Options{
		DataDir: shortDir(t), RunDir: filepath.Join(shortDir(t), "run"), Logger: slog.New(slog.DiscardHandler),
		StartTimeout: 20 * time.Second, CloseTimeout: time.Second,
	}
	if strings.HasSuffix(mode, "hang") || mode == "no-handshake" || mode == "garbage" || mode == "endless-line" {
		o.StartTimeout = 500 * time.Millisecond // those never come up
	}
	if config != nil {
		text, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		o.Config = text
	}
	p, err := plugins.Start(t.Context(), install(t, mode), o)
	if err == nil {
		t.Cleanup(func() { p.Close() }) // its error is the process's, which is rude
	}
	return p, err
}

func call(ctx context.Context, p *plugins.Process, tool string, input any) (json.RawMessage, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	return p.CallTool(ctx, plugins.CallRequest{Tool: tool, CallID: "c", Input: text}, nil)
}

// Modes that must not come up do not, and the error says why.
func TestRefusedLoads(t *testing.T) {
	for mode, want := range map[string]string{
		"claim-plugin-id":   `says it is plugin "issues"`,
		"claim-version":     "99.0.0",
		"claim-control":     "belongs to the host",
		"claim-tool-id":     "name must be a letter",
		"claim-global":      "tools",
		"borrow-tool":       "not a tool of plugin",
		"no-required-tools": "rude",
		"twice":             "listed twice",
		"bad-schema":        "input",
		"huge-description":  "limit",
		"many-tools":        "limit",
		"describe-exit":     "",
		"configure-refuse":  "not in the mood",
		"configure-exit":    "",
		"exit":              "would rather not",
		"garbage":           "",
		"false-handshake":   "",
		"future-handshake":  "99",
		"endless-line":      "",
		"grandchild-exit":   "gone, but not quite",
		"no-handshake":      "",
		"describe-hang":     "",
		"configure-hang":    "",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			if _, err := start(t, mode, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("started in mode %s: %v, want a refusal with %q", mode, err, want)
			}
		})
	}
}

// Modes that a host puts up with come up and answer. What they claim of others
// is for the host's registry to judge.
func TestToleratedModes(t *testing.T) {
	for _, mode := range []string{"", "noisy", "grandchild", "grandchild-detached", "claim-tool", "claim-namespace"} {
		t.Run("mode "+mode, func(t *testing.T) {
			t.Parallel()
			p, err := start(t, mode, nil)
			if err != nil {
				t.Fatal(err)
			}
			if out, err := call(t.Context(), p, "rude_echo", map[string]any{"value": 41}); err != nil || !strings.Contains(string(out), "41") {
				t.Errorf("echo %s, %v", out, err)
			}
		})
	}
}

// Every scope mode is refused, also when it is asked for by configuration, and
// none makes the tools unusable.
func TestRefusedScopes(t *testing.T) {
	for name, m := range modes {
		if m.scope == nil || name == "scope-hang" || name == "scope-exit" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService("")
			if err := s.Configure(t.Context(), protocol.Configuration{JSON: json.RawMessage(fmt.Sprintf(`{"mode":%q}`, name))}); err != nil {
				t.Fatal(err)
			}
			if name == "scope-panic" {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
			}
			text, err := s.CreateScope(t.Context(), "rude", protocol.RunContext{})
			if err != nil {
				return
			}
			scope, err := namespaces.Decode(text, namespaces.Limits{})
			if err == nil {
				err = scope.CheckTargets([]string{"rude_echo"})
			}
			if err == nil {
				t.Errorf("the scope was accepted: %.200s", scope.Guest())
			}
		})
	}
}

func TestRefusedScopeOfProcess(t *testing.T) {
	p, err := start(t, "", map[string]string{"mode": "scope-panic"})
	if err != nil {
		t.Fatal(err)
	}
	if scope, err := p.CreateScope(t.Context(), "rude", namespaces.RunContext{}); err == nil {
		t.Errorf("scope %s", scope.Guest())
	}
}

// Calls that misbehave fail, and only they, as long as the process lives.
func TestCallsThatFail(t *testing.T) {
	p, err := start(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for tool, input := range map[string]any{
		"rude_panic":   none{},
		"rude_huge":    hugeInput{Megabytes: 17},
		"rude_garbage": none{},
		"rude_fail":    failInput{Bytes: 1 << 20},
	} {
		if out, err := call(t.Context(), p, tool, input); err == nil {
			t.Errorf("%s: %.100s", tool, out)
		}
	}
	if out, err := call(t.Context(), p, "rude_flood_logs", countInput{Count: 5000}); err != nil {
		t.Errorf("flood %s, %v", out, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	hanging := func(json.RawMessage) { cancel() } // it runs: cancel it
	if _, err := p.CallTool(ctx, plugins.CallRequest{Tool: "rude_hang", CallID: "h", Input: json.RawMessage(`{}`)}, hanging); err == nil {
		t.Error("hanging came to an end")
	}
	if out, err := call(t.Context(), p, "rude_echo", map[string]any{"value": "still here"}); err != nil || !strings.Contains(string(out), "still here") {
		t.Errorf("echo %s, %v", out, err)
	}
	if out, err := call(t.Context(), p, "rude_look", none{}); err != nil || strings.Contains(string(out), `"PATH"`) {
		t.Errorf("look %s, %v", out, err)
	}
}

func TestCrashes(t *testing.T) {
	for tool, input := range map[string]any{
		"rude_crash":      crashInput{How: "exit"},
		"rude_crash ":     crashInput{How: "panic"},
		"rude_crash  ":    crashInput{How: "kill"},
		"rude_exit_after": exitInput{},
	} {
		t.Run(fmt.Sprint(tool, input), func(t *testing.T) {
			t.Parallel()
			p, err := start(t, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			tool := strings.TrimSpace(tool)
			if _, err := call(t.Context(), p, tool, input); err == nil && tool == "rude_crash" {
				t.Error("a crash has a result")
			}
			<-p.Done()
		})
	}
}

// The well-formed part is a plugin like any other, and slow reports its steps.
func TestWellFormedPart(t *testing.T) {
	h := sdktest.Start(t, newPlugin(), nil)
	_, progress, err := h.CallProgress(t.Context(), "rude_slow", slowInput{Steps: 3, Millis: 1})
	if err != nil || len(progress) != 3 || string(progress[2]) != `{"done":3,"total":3,"message":"step 3"}` {
		t.Errorf("progress %s, %v", progress, err)
	}
	if out, err := h.Verb("rude", []string{"echo"}, "hi"); err != nil || !strings.Contains(string(out), `"hi"`) {
		t.Errorf("echo %s, %v", out, err)
	}
}

func TestUnknownMode(t *testing.T) {
	if _, err := start(t, "charming", nil); err == nil || !strings.Contains(err.Error(), "the modes are bad-schema") {
		t.Errorf("an unknown mode: %v", err)
	}
	if _, err := start(t, "", map[string]string{"mode": "garbage"}); err == nil || !strings.Contains(err.Error(), "no mode for the configuration") {
		t.Errorf("a mode that comes too late: %v", err)
	}
}
