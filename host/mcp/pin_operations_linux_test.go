package mcp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func init() {
	// declaring has the capabilities that a variable names.
	badServers["declaring"] = func(r *raw) error {
		return r.answerOr(map[string]string{
			methodInitialize: `{"protocolVersion":"2025-06-18","capabilities":{` + os.Getenv("QUOIN_TEST_MCP_CAPABILITIES") + `},"serverInfo":{"name":"raw","version":"0"}}`,
			"tools/list":     `{"tools":[{"name":"t"},{"name":"resources"}]}`,
		}, func(q request) error { return r.reply(q, `{"resources":[],"prompts":[]}`) })
	}
}

// TestOperationsArePinned: resources and prompts that a server declares later wait, like its
// tools, until they are accepted. Pins of before that had them do not say which.
func TestOperationsArePinned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begin := func(capabilities string) *world {
		t.Helper()
		s, _ := seeing(t, self(t, "s", "declaring"))
		s.Env["QUOIN_TEST_MCP_CAPABILITIES"] = capabilities
		return connect(t, Options{PinDir: dir}, s)
	}
	wants := func(w *world, names ...string) {
		t.Helper()
		if got := w.names(); !slices.Equal(got, names) {
			t.Fatalf("tools %q, want %q\n%s", got, names, w.log)
		}
	}
	const resources, both = `"tools":{},"resources":{}`, `"tools":{},"resources":{},"prompts":{}`
	wants(begin(resources), "t", "resources", "resources_list", "resources_read") // the first sight
	w := begin(both)
	wants(w, "t", "resources", "resources_list", "resources_read")
	if got := quarantine(w.Status()[0]); !slices.Equal(got, []string{"added  prompts"}) {
		t.Errorf("in quarantine: %q", got)
	}
	if e := w.refuse(t, t.Context(), "s", "prompts_list", `{}`); e.Code != CodeQuarantined {
		t.Errorf("%+v", e)
	}
	w.call(t, "s", "resources_list", `{}`)
	accept := func(w *world, want string) {
		t.Helper()
		d, err := w.Difference("s")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Accept(d); err != nil {
			t.Fatal(err)
		}
		w.until(t, func() bool { return w.has(want) })
	}
	accept(w, "prompts_get")
	wants(begin(both), "t", "resources", "resources_list", "resources_read", "prompts_list", "prompts_get")

	file := filepath.Join(dir, "s.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.NewReplacer(`" prompts": {},`, "", `" resources": {},`, "").Replace(string(text))
	if err := os.WriteFile(file, []byte(old), 0o600); err != nil || old == string(text) {
		t.Fatal(err)
	}
	w = begin(both)
	wants(w, "t", "resources")
	accept(w, "resources_read")
	if w := begin(`"tools":{}`); len(quarantine(w.Status()[0])) > 0 || len(w.Status()[0].Changes) != 2 {
		t.Errorf("what is not declared any more: %+v", w.Status()[0].Changes)
	}
}

// TestPinnedOperationsAreThereBeforeTheFirstAttempt, as the pinned tools are.
func TestPinnedOperationsAreThereBeforeTheFirstAttempt(t *testing.T) {
	t.Parallel()
	open, pins := make(chan struct{}), t.TempDir()
	close(open)
	before := connect(t, Options{PinDir: pins}, slow(t, open)).names()
	s, err := Connect([]Server{slow(t, make(chan struct{}))}, Options{PinDir: pins, times: tenth, OnChange: func() {}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := (&world{Servers: s}).names(); !slices.Contains(got, "prompts_get") || len(got) != len(before) {
		t.Errorf("tools %q, want %q", got, before)
	}
}
