package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/mcpcmd"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
)

// TestMCPPageSnippets: the page shows what the command prints, for every host.
func TestMCPPageSnippets(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, b := range regexp.MustCompile("(?s)```sh\nquoin (mcp snippet [^\n]*)\n```\n```[a-z]+\n(.*?)```").FindAllStringSubmatch(mcpPage(t), -1) {
		args := strings.Fields(b[1])
		seen[args[2]] = true
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != 0 {
			t.Errorf("%s: exit code %d, %s", b[1], code, &stderr)
		}
		printed := strings.NewReplacer(output.ShellWord(exe), "/usr/local/bin/quoin", exe, "/usr/local/bin/quoin").Replace(stdout.String())
		if printed != b[2] {
			t.Errorf("%s prints\n%s\nbut the page has\n%s", b[1], printed, b[2])
		}
	}
	for host := range mcpcmd.AgentHosts {
		if !seen[host] {
			t.Errorf("the page has no snippet for %s", host)
		}
	}
}

// TestMCPPageCommands: each command of the page is one that there is.
func TestMCPPageCommands(t *testing.T) {
	t.Parallel()
	if found := checkCommands(t, mcpPage(t), "quoin "); found < 20 {
		t.Errorf("only %d commands", found)
	}
}

func mcpPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/guide/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
