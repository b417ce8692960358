package command

import (
	"testing"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// attack is a line that must not be allowed, whatever else an operator has allowed.
type attack struct {
	rules [][]string
	allow string // one entry
	line  string
}

// TestAllowedProgramsDoNotRunOthers: programs on the allow-list that can load code,
// write files or take commands from their input do not do so.
func TestAllowedProgramsDoNotRunOthers(t *testing.T) {
	for _, a := range []attack{
		{[][]string{{"python3"}}, "echo", `echo 'import os; os.system("id")' | python3`},
		{[][]string{{"sh"}}, "echo", `echo id | sh`},
		{[][]string{{"bash", "-s"}}, "echo", `echo id | bash -s`},
		{[][]string{{"bash", "-s", "x"}}, "echo", `echo id | bash -s x`},
		{[][]string{{"python3", "-i", "x.py"}}, "echo", `echo id | python3 -i x.py`},
		{[][]string{{"python3", "-"}}, "echo", `echo id | python3 -`},
		{[][]string{{"python3", "/dev/stdin"}}, "echo", `echo id | python3 /dev/stdin`},
		{[][]string{{"bash", "/proc/self/fd/0"}}, "echo", `echo id | bash /proc/self/fd/0`},
		{[][]string{{"python3", "*"}}, "echo", `echo id | python3 /dev/stdin`},
		{[][]string{{"python3", "*.py"}}, "echo", `python3 -c.py`},
		{[][]string{{"sqlite3"}}, "echo", `echo .shell id | sqlite3`},
		{[][]string{{"dc"}}, "echo", `echo '!id' | dc`},
		{[][]string{{"ed"}}, "echo", `echo '!id' | ed`},
		{nil, "nm", `nm --plugin=./evil.so x`},
		{nil, "nm", `nm --plugin ./evil.so x`},
		{nil, "nm", `nm --plu=./evil.so x`},
		{nil, "nm", `nm @args`},
		{nil, "nm", `nm *`},
		{nil, "size", `size @args`},
		{nil, "zstdcat", `zstdcat x -o y`},
		{nil, "zstdcat", `zstdcat --rm x`},
		{nil, "zstdcat", `zstdcat --output-dir-flat=/tmp x`},
		{nil, "arch", `arch -x86_64 sh`},
		{nil, "git log", `git log --output=x`},
		{nil, "git diff", `git diff --ext-diff`},
		{nil, "git grep", `git grep -O x`},
		{nil, "git status", `git -c core.fsmonitor=./x status`},
		{nil, "go test", `go test -exec=id ./...`},
		{nil, "go vet", `go vet -vettool=./x ./...`},
		{nil, "go build", `go build -toolexec ./x ./...`},
		{nil, "sort", `sort --compress-program ./x f`},
		{nil, "sort", `sort --compress-prog=./x f`},
		{nil, "rg", `rg --pre ./x y`},
		{nil, "rg", `rg -Fz y`},
		{nil, "tree", `tree -o x`},
		{nil, "find", `find . -files0-from x`},
		{nil, "find", `find . -exec {} ';'`},
		{nil, "find", `find . -fprintf /tmp/x %p`},
		{nil, "echo", `echo id | xargs -I{} {} x`},
		{nil, "echo", `echo id | xargs -I echo echo x`},
		{nil, "echo", `echo x | xargs -a f sh`},
		{nil, "awk", `awk '{print}' /inet/tcp/0/example.org/80`},
		{nil, "awk", `awk 'BEGIN{ARGV[1]="/in" "et/tcp/0/example.org/80"}{print}'`},
		{nil, "awk", `awk 'BEGIN{SYMTAB["x"]=1}{print}' x`},
		{nil, "xz", `xz -t -d a.xz`},
		{nil, "man", `man -P id ls`},
		{nil, "less", `less x`},
	} {
		s := &settings.Settings{Allow: []string{a.allow}, Path: []string{"/usr/local/bin", "/usr/bin", "/bin"}}
		for _, r := range a.rules {
			s.Rules = append(s.Rules, settings.Rule{Command: r})
		}
		j, err := NewJudge(s)
		if err != nil {
			continue // such a rule cannot be written
		}
		if g := j.Judge(a.line, nil); g.Allowed {
			t.Errorf("%v %q: %q is allowed as %s", a.rules, a.allow, a.line, g.Line)
		}
	}
}

// TestRulesOfFilesAreAccepted: an operator can still allow an interpreter with its file.
func TestRulesOfFilesAreAccepted(t *testing.T) {
	for _, words := range [][]string{{"python3", "check.py"}, {"sh", "/opt/check.sh"}, {"python3", "--version"}, {"bash", "-e", "build.sh"}, {"make"}} {
		if _, err := NewJudge(&settings.Settings{Rules: []settings.Rule{{Command: words}}}); err != nil {
			t.Errorf("%q: %v", words, err)
		}
	}
}
