package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommandsForAShell: a command that a shell would understand says what to write.
func TestCommandsForAShell(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"npx -y @acme/srv": "put its arguments into args",
		"~/bin/x":          "~ stands for something in a shell alone: write the whole path",
		file:               "make the file executable",
		"$HOME/bin/x":      "$ stands for something in a shell alone: write the whole path",
		`"node"`:           "leave the quotes out",
	} {
		st := connectDescribed(t, Server{Name: "srv", Command: command}).Status()[0]
		if st.State != StateDown || st.Error == nil || !strings.Contains(st.Error.Error(), want) {
			t.Errorf("%s: %+v", command, st)
		}
	}
}
