package host_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/redact"
)

// heard is a log that keeps what it is told.
type heard struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.String()
}

// TestSecretsStayWithThePlugin configures a secret as operators do and tries to get
// it out through everything that comes from a plugin that gives it away.
func TestSecretsStayWithThePlugin(t *testing.T) {
	const secret = "tok-3f9a/7\"Zq+x"
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "quoin.json5")
	if err := os.WriteFile(path, fmt.Appendf(nil, `{tools: {codeMode: true}, plugins: {secrets: {rude: {token: %q}}}}`, "file:"+token), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := configfile.Load(configfile.Sources{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	cfg := f.Config()
	sink, log := &events{}, &heard{}
	cfg.Plugins.Dir, cfg.Trajectory.Sink, cfg.Trajectory.Bodies = pluginDir(t, "rude"), sink, &redact.Redactor{}
	cfg.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	cfg.Settings.Isolation = host.IsolationBestEffort
	h, err := newHost(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var seen bytes.Buffer
	for _, where := range []string{"result", "key", "base64", "error", "details", "progress", "log", "field", "print", "stderr", "panic"} {
		r := exec(h, `const out = [];
			try { out.push(await Rude.leak("`+where+`")) } catch (e) { out.push(e.message, e.stack, e.code, e.details ?? null) }
			return out`)
		if r.Status != host.StatusCompleted {
			t.Errorf("%s: %s", where, show(r))
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(b)
	}
	// A failed program and its scope.
	for _, code := range []string{`await Rude.leak("error")`, `return [ALL_TOOLS, await tools.describe("rude_leak"), Object.keys(Rude), await API.read("namespaces/Rude.d.ts")]`} {
		b, err := json.Marshal(exec(h, code))
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(b)
	}
	if err := h.Close(); err != nil { // the log is complete then
		t.Error(err)
	}
	for _, e := range sink.all() {
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(b)
	}
	for name, text := range map[string]string{"what programs and records have": seen.String(), "the log": log.String()} {
		if strings.Contains(text, "3f9a") || strings.Contains(text, "dG9rLT") { // also as part of base64
			t.Errorf("%s has the secret:\n%s", name, text)
		}
		if n := strings.Count(text, "[secret]"); n < 4 {
			t.Errorf("%s has the mark %d times:\n%s", name, n, text)
		}
	}
}

// TestWhereSecretsAre checks what a configuration says of secrets.
func TestWhereSecretsAre(t *testing.T) {
	t.Parallel()
	load := func(text string) error {
		path := filepath.Join(t.TempDir(), "quoin.json5")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := configfile.Load(configfile.Sources{Path: path})
		return err
	}
	if err := load(`{plugins: {secrets: {a: {one: "env:ONE", "two.b-c": "file:/run/secrets/two"}}}}`); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		text  string
		parts []string
	}{
		{"{\n plugins: {secrets: {a: {token: \"hunter2hunter2\"}}}}", []string{"quoin.json5:2:", "plugins.secrets.a.token", "env:NAME", "file:/path"}},
		{`{plugins: {secrets: {a: {"no name": "env:X"}}}}`, []string{"plugins.secrets.a", "a letter"}},
		{`{plugins: {secrets: {a: {token: 5}}}}`, []string{"plugins.secrets.a.token", "a text"}},
		{`{plugins: {secrets: {a: "env:X"}}}`, []string{"plugins.secrets.a", "secret name"}},
	} {
		err := load(tt.text)
		if err == nil {
			t.Errorf("%s is accepted", tt.text)
			continue
		}
		for _, part := range tt.parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v does not say %q", err, part)
			}
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the problem shows what may be a secret: %v", err)
		}
	}
}
