package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/hosttest"
)

var word = regexp.MustCompile(`'[^']*'|[^\s']+`)

// TestReadmeCommands: each command of the README is one that there is, with flags and
// arguments that it takes.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if found := checkCommands(t, string(text), "bin/quoin "); found < 8 {
		t.Errorf("only %d commands", found)
	}
}

// checkCommands looks at the commands of a document that start so, and returns how many
// there are.
func checkCommands(t *testing.T, text, start string) (found int) {
	t.Helper()
	for _, b := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(b[1]) {
			line, _, _ = strings.Cut(line, "  #")
			rest, ok := strings.CutPrefix(strings.TrimSpace(line), start)
			if !ok {
				continue
			}
			found++
			var args []string
			for _, w := range word.FindAllString(rest, -1) {
				args = append(args, strings.Trim(w, "'"))
			}
			cmd, flags, err := newRoot().Find(args)
			if err == nil {
				err = cmd.ParseFlags(flags)
			}
			if err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	return found
}

// TestReadmeProgram runs the program that the README starts with.
func TestReadmeProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := hosttest.Install(filepath.Join(dir, "plugins"), "issues"); err != nil {
		t.Fatal(err)
	}
	program := codeBlock(t, string(text), "ts")
	program = `await Issues.create({title: "It rattles", labels: ["bug"]});` + program
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"exec", "-q", "--lang", "ts", "--config", "none", "--set", "guest.path=" + guest, "--plugins", filepath.Join(dir, "plugins"), "--state", filepath.Join(dir, "state"), "-e", program},
		strings.NewReader(""), &stdout, &stderr)
	if code != 0 || stdout.String() != "[\"It rattles\"]\n" {
		t.Errorf("exit code %d, %s%s", code, &stdout, &stderr)
	}
}
