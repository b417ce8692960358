package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

func newJudge(t testing.TB, change func(*settings.Settings)) *Judge {
	t.Helper()
	s, err := settings.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	change(s)
	j, err := NewJudge(s)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// realistic is an allow-list as an operator may write it who wants no question about
// commands that only read.
func realistic(s *settings.Settings) {
	for name := range profiles {
		s.Allow = append(s.Allow, name)
	}
	s.Allow = append(s.Allow, "go test", "npm test", "npm run lint", "make check", "mytool")
	s.Rules = []settings.Rule{
		{Command: []string{"python3", "--version"}},
		{Command: []string{"node", "--version"}},
		{Command: []string{"python3", "-m", "json.tool", "*.json"}, Match: []string{"python3 -m json.tool a.json"}, NotMatch: []string{"python3 -m http.server", "python3 -c x.json"}},
	}
}

// probe is a program that notes its words in the directory $PROBE.
const probe = `#!/bin/sh
{ printf '%s\0' "${0##*/}" "$@"; printf '\n\0'; } >"$PROBE/$$"
`

// programs makes a directory of programs: probes, and what runs other programs as the
// machine has it.
func programs(t testing.TB, script string) string {
	t.Helper()
	dir := t.TempDir()
	first := filepath.Join(dir, "probe-of-all")
	if err := os.WriteFile(first, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	link := func(name string) {
		if err := os.Link(first, filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "bash", "dash", "env", "nice", "timeout", "nohup", "setsid", "stdbuf", "xargs", "find"} {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		link(name)
	}
	for _, set := range []map[string]bool{readers, codeRunners, shells, commandReaders} {
		for name := range set {
			link(name)
		}
	}
	for name := range profiles {
		link(name)
	}
	for name := range wrappers {
		link(name)
	}
	for name := range strings.FieldsSeq("rm rmdir unlink shred truncate mkdir chmod chown touch kill pkill killall reboot patch python3 python2 python3.11 python3.12 perl5.36 vim.basic pypy3 ionice time mytool history complete") {
		link(name)
	}
	for name, target := range map[string]string{"otherbash": "bash", "otherpython": "python3", "lenv": "env"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// corpus reads command lines, with the class of each.
func corpus(t testing.TB, name string) (lines, classes []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	class := ""
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "# "):
			class = line[2:]
			continue
		case line == "":
			continue
		case strings.HasPrefix(line, `"`):
			if line, err = strconv.Unquote(line); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		lines, classes = append(lines, line), append(classes, class)
	}
	return lines, classes
}
