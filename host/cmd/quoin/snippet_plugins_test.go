package main

import (
	"os"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// TestUnaskedPluginsAreNamed: the plugins next to the executable are examples. Who installs
// no others is told that another host gets them.
func TestUnaskedPluginsAreNamed(t *testing.T) {
	hosttest.Serial(t, "it sets variables of the environment")
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	guest, err := hosttest.Guest() // this program does not serve as one with the race detector
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("QUOIN_GUEST_PATH", guest)
	dir := paths.NextToExecutable()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(dir)
	for _, c := range []struct {
		args, told string
	}{
		{"snippet claude-code", "the host gets the plugins of " + dir},
		{"snippet claude-code --url http://127.0.0.1:8787", ""},
		{"serve", "the client gets the plugins next to this program"},
		{"serve --plugins none", ""},
	} {
		var out, said strings.Builder
		args := append([]string{"mcp"}, strings.Fields(c.args)...)
		if code := run(t.Context(), args, strings.NewReader(""), &out, &said); code != 0 {
			t.Fatalf("%s: status %d: %s", c.args, code, said.String())
		}
		if told := strings.Contains(said.String(), "gets the plugins"); told != (c.told != "") || !strings.Contains(said.String(), c.told) {
			t.Errorf("%s: %s", c.args, said.String())
		}
	}
}
