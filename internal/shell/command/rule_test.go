package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// TestRulesThatAreErrors: a rule that could allow any code, or that its examples
// contradict, is refused when it is read.
func TestRulesThatAreErrors(t *testing.T) {
	for _, c := range []struct {
		allow string
		rule  settings.Rule
		want  string
	}{
		{allow: "", want: "not one command"},
		{allow: "ls; rm", want: "not one command"},
		{allow: "ls $HOME", want: "not one command"},
		{allow: "ls > x", want: "not one command"},
		{allow: "A=1 ls", want: "not one command"},
		{allow: "ls \u202e", want: "does not show"},
		{allow: "./ls", want: "absolute path"},
		{allow: "/bin/../ls", want: "absolute path"},
		{allow: "l*", want: "not the name"},
		{allow: "nice", want: "only runs another program"},
		{allow: "xargs", want: "only runs another program"},
		{allow: "timeout 5", want: "only runs another program"},
		{allow: "busybox", want: "only runs another program"},
		{rule: settings.Rule{}, want: "has no command"},
		{rule: settings.Rule{Command: []string{"ls", "**", "x"}}, want: "last word alone"},
		{rule: settings.Rule{Command: []string{"python3", "-c", "*"}}, want: "write the"},
		{rule: settings.Rule{Command: []string{"python3", "*"}}, want: "write the"},
		{rule: settings.Rule{Command: []string{"python3", "x.py", "--eval=*"}}, want: "write the words"},
		{rule: settings.Rule{Command: []string{"bash", "-c", "*"}}, want: "write the"},
		{rule: settings.Rule{Command: []string{"sudo", "**"}}, want: "write the words"},
		{rule: settings.Rule{Command: []string{"ssh", "*", "id"}}, want: "write the"},
		{rule: settings.Rule{Command: []string{"git", "commit", "-m", "*"}, Match: []string{"git commit"}}, want: "should match"},
		{rule: settings.Rule{Command: []string{"git", "log", "**"}, NotMatch: []string{"git log -3"}}, want: "must not match"},
		{rule: settings.Rule{Command: []string{"git", "log", "**"}, Match: []string{"git log --output=x"}}, want: "should match"},
		{rule: settings.Rule{Command: []string{"git", "log", "**"}, Match: []string{"cat x"}}, want: "should match"},
		{rule: settings.Rule{Command: []string{"git", "log", "**"}, Match: []string{"git log $x"}}, want: "not one command"},
	} {
		s := &settings.Settings{}
		if c.rule.Command == nil && c.want != "has no command" {
			s.Allow = []string{c.allow}
		} else {
			s.Rules = []settings.Rule{c.rule}
		}
		if _, err := NewJudge(s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %q: %v, want %q", c.allow, c.rule.Command, err, c.want)
		}
	}
}

// TestCodeRunnersNeedWords: no program that runs code is allowed by its name alone,
// unless it is known which of its arguments run none.
func TestCodeRunnersNeedWords(t *testing.T) {
	n := 0
	for _, set := range []map[string]bool{codeRunners, shells, commandReaders} {
		for name := range set {
			if profiles[name] != nil {
				continue
			}
			n++
			if _, err := NewJudge(&settings.Settings{Allow: []string{name}}); err == nil {
				t.Errorf("%s is allowed with any words", name)
			}
		}
	}
	if n < 250 {
		t.Errorf("only %d programs are known", n)
	}
}

// TestRules: words that a rule writes out are the operator's; the others are
// judged.
func TestRules(t *testing.T) {
	dir := programs(t, probe)
	j := newJudge(t, func(s *settings.Settings) {
		s.Path = []string{dir}
		s.Allow = []string{"git push origin", "sort"}
		s.Rules = []settings.Rule{
			{Command: []string{"mytool", "get", "**"}},
			{Command: []string{"otherbash", "**"}},
			{Command: []string{"otherpython", "**"}},
			{Command: []string{"lenv", "**"}},
			{Command: []string{"git", "commit", "-m", "*"}},
			{Command: []string{"python3", "lint.py", "**"}},
			{Command: []string{"npm", "run", "test:*"}},
			{Command: []string{"sort", "-o", "out.txt", "*.csv"}},
			{Command: []string{dir + "/cat", "a*b*c"}},
			{Command: []string{"make"}},
		}
	})
	for line, want := range map[string]bool{
		"mytool get x --any=thing":   true,
		"mytool get":                 true,
		"mytool put x":               false,
		"mytool":                     false,
		"mytool g* x":                false,
		"git push origin main":       true,
		"git push origin --force":    false,
		"git push origin -- --force": false,
		"git push other":             false,
		"git commit -m 'a message'":  true,
		"git commit -m --amend":      false,
		"git commit -m ''":           false,
		"git commit -m x --amend":    false,
		"git commit -am x":           false,
		"git -c a=b commit -m x":     false,
		"python3 lint.py":            true,
		"python3 lint.py src docs":   true,
		"python3 lint.py --fix":      false,
		"python3 lint.py src/*":      true,
		"python3 lint.py *":          false,
		"python3 -i lint.py":         false,
		"python3 other.py lint.py":   false,
		"ls | xargs python3 lint.py": false,
		"npm run test:unit":          true,
		"npm run test:":              true,
		"npm run test:unit -- -u":    false,
		"npm run deploy":             false,
		"sort -o out.txt a.csv":      true,
		"sort -o out.txt -o":         false,
		"sort -o other.txt a.csv":    false,
		"sort -u a.csv":              true,
		"cat axbxc":                  true,
		"cat abc":                    true,
		"cat abcd":                   false,
		"cat xabc":                   false,
		"make":                       true,
		"make x":                     false,
		"ls":                         false,
		"otherbash x.sh":             false,
		"otherbash -c ls":            false,
		"otherpython x.py":           false,
		"lenv rm x":                  false,
	} {
		if g := j.Judge(line, nil); g.Allowed != want {
			t.Errorf("%q is allowed: %v, want %v %q", line, g.Allowed, want, g.Reasons)
		}
	}
}

// TestLinkedPrograms: a link is judged by what it leads to, also where the file is one
// that does what it is called.
func TestLinkedPrograms(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"xz", "mawk", "fdfind", "busybox", "vim.basic", "python3.11", "bash"} {
		write(t, filepath.Join(dir, file), "#!/bin/sh\n", 0o755)
	}
	for name, file := range map[string]string{"xzcat": "xz", "awk": "mawk", "fd": "fdfind", "ls": "busybox", "rm": "busybox", "cat": "bash", "head": "python3.11", "tail": "vim.basic"} {
		if err := os.Symlink(file, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	j := newJudge(t, func(s *settings.Settings) {
		s.Path = []string{dir}
		s.Allow = []string{"xzcat", "xz", "awk", "fd", "ls", "cat", "head", "tail"}
	})
	for line, want := range map[string]bool{
		"xzcat a.xz": true, "xz a": false, "xz -l a.xz": true, "awk '{ print }' a": true, "awk 'BEGIN { system(1) }'": false, "fd x": true, "fd -x rm": false,
		"ls -l": true, "busybox ls -l": true, "rm x": false, "busybox rm x": false, "cat x": false, "head x": false, "tail x": false,
	} {
		if g := j.Judge(line, nil); g.Allowed != want {
			t.Errorf("%q is allowed: %v, want %v %q", line, g.Allowed, want, g.Reasons)
		}
	}
}
