package main

import (
	"os"
	"testing"

	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/internal/shell/command"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

func shellPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/shell.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestShellPageCommands: each command of the page is one that there is.
func TestShellPageCommands(t *testing.T) {
	t.Parallel()
	if found := checkCommands(t, shellPage(t), "quoin "); found < 7 {
		t.Errorf("only %d commands", found)
	}
}

// TestShellPageConfiguration: the configuration of the page is one, and does what the
// page says of it.
func TestShellPageConfiguration(t *testing.T) {
	t.Parallel()
	f, err := configfile.Load(configfile.Sources{Path: "quoin.json5", Text: []byte(codeBlock(t, shellPage(t), "json5"))})
	if err != nil {
		t.Fatal(err)
	}
	s, err := settings.Parse(f.Config().Plugins.Config[settings.PluginID])
	if err != nil {
		t.Fatal(err)
	}
	j, err := command.NewJudge(s)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{"ls -l | cat": true, "rm -r x": false} {
		if g := j.Judge(line, nil); g.Allowed != want {
			t.Errorf("%s: %v %q, want %v", line, g.Allowed, g.Reasons, want)
		}
	}
}
