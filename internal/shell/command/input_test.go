package command

import (
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// TestCommandsFromTheInput: a program that takes commands from its input gets none of it, and no more words than a rule
// has, which would be commands as well.
func TestCommandsFromTheInput(t *testing.T) {
	t.Parallel()
	dir := programs(t, probe)
	j := newJudge(t, func(s *settings.Settings) {
		s.Path = []string{dir}
		s.Allow = []string{"echo", "cat", "psql postgresql://db/x", "sqlite3 app.db", "gdb prog", "bc f", "ed f", "ssh host", "python3 -m pdb x.py", "sudo bash /srv/x.sh",
			"docker exec -i db psql", "duckdb app.db", "smbclient //srv/share", "bash /srv/build.sh", "python3 lint.py"}
	})
	for line, want := range map[string]bool{
		"psql postgresql://db/x":                    true,
		"echo '\\! id' | psql postgresql://db/x":    false,
		"psql postgresql://db/x < f":                false,
		"psql postgresql://db/x <<< '\\! id'":       false,
		"psql postgresql://db/x -c '\\! id'":        false,
		"psql postgresql://db/x user":               false,
		"echo x | (psql postgresql://db/x)":         false,
		"echo x | timeout 5 psql postgresql://db/x": false,
		"echo x | sh -c 'psql postgresql://db/x'":   false,
		"cat f | cat && psql postgresql://db/x":     true,
		"psql postgresql://db/x | cat":              true,
		"sqlite3 app.db '.shell id'":                false,
		"echo '.shell id' | sqlite3 app.db":         false,
		"duckdb app.db '.shell id'":                 false,
		"echo '.shell id' | duckdb app.db":          false,
		"duckdb app.db < f":                         false,
		"smbclient //srv/share -c '!id'":            false,
		"echo '!id' | smbclient //srv/share":        false,
		"gdb prog":                                  true,
		"echo 'shell id' | gdb prog":                false,
		"echo '!id' | ed f":                         false,
		"echo id | ssh host":                        false,
		"ssh host id":                               false,
		"echo '!id' | python3 -m pdb x.py":          false,
		"echo '\\! id' | docker exec -i db psql":    false,
		"docker exec -i db psql":                    true,
		"docker exec -i db psql other":              false,
		"cat f | python3 lint.py":                   true,
		"cat f | bash /srv/build.sh a":              true,
		"cat f | sudo bash /srv/x.sh":               true,
	} {
		g := j.Judge(line, nil)
		if g.Allowed != want {
			t.Errorf("%s: allowed %v, want %v (%q)", line, g.Allowed, want, g.Reasons)
		}
		if reads := strings.Contains(line, "psql") || strings.Contains(line, "gdb"); g.Allowed && (g.NoInput != reads || strings.Contains(g.Line, "< '/dev/null'") != reads) {
			t.Errorf("%s: runs as %s, no input %v", line, g.Line, g.NoInput)
		}
	}
	for _, rule := range []string{"psql x **", "ssh host **", "sudo bash **", "docker exec x sqlite3 db **", "python3 -m pdb **", "redis-cli"} {
		if _, err := NewJudge(&settings.Settings{Rules: []settings.Rule{{Command: strings.Fields(rule)}}}); err == nil {
			t.Errorf("the rule %q is accepted", rule)
		}
	}
}

// TestAnUnknownProgramIsAllowedByItsWords: of a program that nothing is known of, an entry allows its own words and no
// input; only a rule that ends in ** says more. What is known to do as its words say keeps them and its input.
func TestAnUnknownProgramIsAllowedByItsWords(t *testing.T) {
	t.Parallel()
	dir := programs(t, probe)
	for _, name := range []string{"newdb", "build.sh"} {
		write(t, dir+"/"+name, probe, 0o755)
	}
	j := newJudge(t, func(s *settings.Settings) {
		s.Path = []string{dir}
		s.Allow = []string{"echo", "newdb app.db", dir + "/build.sh", "mkdir", "make test", "npm run build", "gh pr list", "terraform plan"}
		s.Rules = []settings.Rule{{Command: []string{"mytool", "run", "**"}}, {Command: []string{"mytool", "get", "*"}}, {Command: []string{"mytool", "run", "once"}}}
	})
	for line, want := range map[string]bool{
		"newdb app.db": true, "newdb app.db | echo": true, "newdb app.db && echo x": true, "newdb app.db '.shell id'": false, "newdb app.db --init=x": false, "newdb app.db < f": false, "newdb app.db <<< '.shell id'": false,
		"echo '.shell id' | newdb app.db": false, "echo x | (newdb app.db)": false, "echo x | timeout 5 newdb app.db": false, "echo app.db | xargs newdb": false, "echo x | xargs newdb app.db": false, "newdb": false,
		dir + "/build.sh": true, "build.sh": true, dir + "/build.sh --fast": false, "echo x | build.sh": false,
		"mytool run": true, "mytool run x --y": true, "echo x | mytool run": true, "mytool run a < f": true, "echo x | mytool run once": true, "mytool get x": true, "mytool get x y": false, "echo x | mytool get x": false,
		"mkdir -p a b": true, "make test": true, "make test all": true, "echo x | make test": true, "npm run build": true, "gh pr list": true, "terraform plan": true,
	} {
		g := j.Judge(line, nil)
		if g.Allowed != want {
			t.Errorf("%s: allowed %v, want %v (%q)", line, g.Allowed, want, g.Reasons)
		}
		if deaf := strings.Contains(line, "newdb") || strings.Contains(line, "build.sh") || strings.Contains(line, "get"); g.Allowed && (g.NoInput != deaf || strings.Contains(g.Line, "< '/dev/null'") != deaf) {
			t.Errorf("%s: runs as %s, no input %v", line, g.Line, g.NoInput)
		}
	}
	for _, known := range []string{"duckdb", "smbclient", "usql", "pgcli", "sqlplus", "pyspark", "maxima", "sudo-rs", "run0", "bunx", "hyperfine", "chronic", "gosu", "tini", "tig", "lazygit", "hub", "git-lfs", "mypy", "pylint", "rubocop", "rspec", "gulp", "turbo"} {
		if _, err := NewJudge(&settings.Settings{Rules: []settings.Rule{{Command: []string{known, "**"}}}}); err == nil {
			t.Errorf("%s is allowed with any words", known)
		}
	}
}

// TestOptionsOfARuleAreNoCommand: the command of a line is found behind the options, also the
// options of a rule, and a word that sets a variable or stands for options is one that
// decides.
func TestOptionsOfARuleAreNoCommand(t *testing.T) {
	t.Parallel()
	dir := programs(t, probe)
	j := newJudge(t, func(s *settings.Settings) {
		s.Path = []string{dir}
		s.Allow = []string{"git -C /srv/p", "git --no-pager", "git -P", "git remote -v", "kubectl -n prod", "systemctl --no-pager", "ip -br", "ip -4", "go -C /srv", "uniq a", "xxd a", "uniq -f",
			"make check", "cargo build", "gcc x.c", "git submodule", "git bisect", "git push origin", "git -C /srv/p push origin", "kubectl -n prod rollout", "sort -o", "make -C /srv check", "go -C /srv test", "git branch -d old"}
	})
	for line, want := range map[string]bool{
		"git -C /srv/p status": true, "git -C /srv/p": true, "git -C /srv/p config alias.x '!evil'": false, "git -C /srv/p x": false, "git -C /srv/p -C /other status": true, "git -C /srv/p -c alias.x='!evil' x": false,
		"git -C /srv/p --exec-path=/evil status": false, "git -C /srv/p --git-dir=/evil status": false,
		"git --no-pager log": true, "git --no-pager push": false, "git -P gc": false, "git remote -v": true, "git remote -v add x y": false, "git remote -v show x": false,
		"kubectl -n prod get pods": true, "kubectl -n prod delete pod": false, "kubectl -n prod exec x": false, "kubectl -n prod rollout status": true, "kubectl -n prod rollout --x": false,
		"systemctl --no-pager status": true, "systemctl --no-pager stop sshd": false, "ip -br link": true, "ip -br link set down": false, "ip -4 netns exec x sh": false, "ip -4 addr": true,
		"go -C /srv list": true, "go -C /srv run .": false, "go -C /srv build": false, "go -C /srv test ./...": true, "go -C /srv test -exec evil ./...": false,
		"uniq a": true, "uniq a b": false, "uniq -c a": false, "xxd a b": false, "uniq -f 1 a": true, "uniq -f 1 a b": false,
		"make check": true, "make check all": true, "make check SHELL=/tmp/evil": false, "make check CC:=x": false, "make -C /srv check x=y": false, "make -C /srv check all": true,
		"cargo build +nightly": false, "gcc x.c @args": false, "gcc x.c y.c": true, "git submodule": true, "git submodule status": false, "git submodule foreach evil": false, "git bisect run evil": false,
		"git push origin main": true, "git push origin +main": false, "git -C /srv/p push origin main": true, "git -C /srv/p push other": false, "sort -o x": false, "git branch -d old": true, "git branch -d old other": false,
	} {
		if g := j.Judge(line, nil); g.Allowed != want {
			t.Errorf("%s: allowed %v, want %v (%q)", line, g.Allowed, want, g.Reasons)
		}
	}
	for _, rule := range []string{"git -c a=b **", "git -C **", "kubectl --as x **", "python3 -W ignore **", "ssh -p 22 host **", "sudo -i x **", "perl -I lib **", "node --require x **", "make -C dir **", "npm --prefix x **", "bash -o posix **"} {
		if _, err := NewJudge(&settings.Settings{Rules: []settings.Rule{{Command: strings.Fields(rule)}}}); err == nil {
			t.Errorf("the rule %q is accepted", rule)
		}
	}
}
