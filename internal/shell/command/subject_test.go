package command

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// TestSubjects: a decision for always holds for the command that runs, not for what runs
// it, and for nothing else.
func TestSubjects(t *testing.T) {
	dir := programs(t, probe)
	j := newJudge(t, func(s *settings.Settings) { s.Path = []string{dir} })
	same := [][]string{
		{"rm -r x", "timeout 5 rm -r x", "nice -n 3 nohup rm -r x", "sh -c 'rm -r x'", "timeout 5 sh -c \"nice rm -r x\"", "rm   '-r' x", "'rm' \"-r\" x", dir + "/rm -r x", "command rm -r x"},
		{"rm -r y"},
		{"rm '-r x'"},
		{"rm -r x && rm -r y", "timeout 5 rm -r x && nice rm -r y"},
		{"rm -r x || rm -r y"},
		{"rm -r x; rm -r y", "rm -r x\nrm -r y"},
		{"rm -r x | rm -r y"},
		{"cd a && rm -r x"},
		{"cd b && rm -r x"},
		{"rm -r x < a"},
		{"rm -r x < b"},
		{"! rm -r x"},
		{"rm -r x 2>/dev/null"},
		{"LANG=C rm -r x"},
		{"rm -r ~/x", "nice rm -r ~/x"},
		{"rm -r '~/x'"},
		{"rm -r \"~'/x'\""},
	}
	seen := map[string]string{}
	for _, lines := range same {
		want := j.Judge(lines[0], nil).Subject
		if want == "" {
			t.Errorf("%q cannot be remembered: %q", lines[0], j.Judge(lines[0], nil).Reasons)
		}
		if other, ok := seen[want]; ok {
			t.Errorf("%q and %q have one subject", other, lines[0])
		}
		seen[want] = lines[0]
		for _, line := range lines[1:] {
			if got := j.Judge(line, nil).Subject; got != want {
				t.Errorf("%q has another subject than %q", line, lines[0])
			}
		}
	}
	if j.Judge("rm -r x", map[string]string{"LANG": "C"}).Subject == j.Judge("rm -r x", nil).Subject {
		t.Error("a variable does not count")
	}
}

// TestForgotten: what may do something else the next time is not remembered.
func TestForgotten(t *testing.T) {
	dir := programs(t, probe)
	j := newJudge(t, func(s *settings.Settings) { s.Path = []string{dir} })
	for _, line := range []string{
		"rm *", "rm $x", "rm $(ls)", "rm x > y", "./rm x", "nosuchprogram", "python3 x.py", "python3 -c 'print(1)'", "sh x.sh", "sh", "bash -s", "echo x | sh", "make", "npm test", "go test ./...", "awk -f x",
		"sed -f x", "vim x", "find . -exec rm {} +", "ls | xargs rm", "env -C / rm x", "env LANG=C rm x", "sudo rm x", "docker run x", "ssh h id", "rm x & ls", "for i in a; do rm x; done", "rm \u202ex", "rm x\r",
		"bash -ec 'rm x'", "LD_PRELOAD=x rm y", "git -c a=b log", "",
	} {
		if g := j.Judge(line, nil); g.Subject != "" {
			t.Errorf("%q can be remembered", line)
		}
	}
}

// TestSwappedProgram: another file under the same name asks again, also one with the
// same size and time.
func TestSwappedProgram(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tool")
	write(t, file, "#!/bin/sh\nexit 0\n", 0o755)
	j := newJudge(t, func(s *settings.Settings) { s.Path = []string{dir} })
	before := j.Judge("tool x", nil)
	if again := j.Judge("tool x", nil); before.Subject == "" || again.Subject != before.Subject {
		t.Fatalf("%+v and %+v", before, again)
	}
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, "#!/bin/sh\nexit 1\n", 0o755)
	if err := os.Chtimes(file, st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
	after := j.Judge("tool x", nil)
	if after.Subject == before.Subject || after.Effective[0].Digest == before.Effective[0].Digest {
		t.Error("the other file has the same subject")
	}
}

// TestTrust: a program that another user could replace is not one.
func TestTrust(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes do not say who may write to a file")
	}
	top := t.TempDir()
	dir, link := filepath.Join(top, "bin"), filepath.Join(top, "link")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "tool")
	write(t, file, "#!/bin/sh\n", 0o755)
	for _, name := range []string{"plain", "directory"} {
		write(t, filepath.Join(top, name), "", 0o755)
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	j := newJudge(t, func(s *settings.Settings) { s.Path = []string{link}; s.Allow = []string{"tool"} })
	g := j.Judge("tool", nil)
	if real, err := filepath.EvalSymlinks(file); err != nil || !g.Allowed || g.Line != quote(real)+" < '/dev/null'" {
		t.Errorf("through a link: %+v %v", g, err)
	}
	for _, c := range []struct {
		path       string
		mode, back os.FileMode
	}{{file, 0o777, 0o755}, {file, 0o757, 0o755}, {dir, 0o777, 0o755}, {file, 0o644, 0o755}} {
		if err := os.Chmod(c.path, c.mode); err != nil {
			t.Fatal(err)
		}
		if g := j.Judge("tool", nil); g.Allowed || g.Subject != "" || g.Line != "" {
			t.Errorf("%s with the mode %o: %+v", c.path, c.mode, g)
		}
		if err := os.Chmod(c.path, c.back); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefused: what cannot be shown or passed on as it is does not run at all.
func TestRefused(t *testing.T) {
	j := newJudge(t, func(s *settings.Settings) { s.Allow = []string{"echo"} })
	for _, line := range []string{"echo a\x00b", "echo \xff", "echo " + strings.Repeat("x", settings.MaxCommandBytes)} {
		if g := j.Judge(line, nil); !g.Refused || g.Allowed || len(g.Reasons) == 0 {
			t.Errorf("%.20q: %+v", line, g)
		}
	}
	for _, line := range []string{"echo a\rb", "echo \u202ea", "echo \x1b[2K"} {
		if g := j.Judge(line, nil); g.Refused || g.Allowed {
			t.Errorf("%q, which is shown with escapes: %+v", line, g)
		}
	}
}

// TestCheckEnv: a caller cannot set what makes a program run other code, and what may
// change one is asked about.
func TestCheckEnv(t *testing.T) {
	for name := range strings.FieldsSeq(`LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES PATH IFS BASH_ENV ENV SHELLOPTS PS4 PROMPT_COMMAND BASH_FUNC_ls
		GIT_SSH_COMMAND GIT_CONFIG_COUNT GIT_EXTERNAL_DIFF git_dir PAGER LESSOPEN EDITOR PYTHONPATH PYTHONSTARTUP PERL5OPT PERL5LIB RUBYOPT RUBYLIB NODE_OPTIONS
		JAVA_TOOL_OPTIONS GOFLAGS HOME XDG_CONFIG_HOME RIPGREP_CONFIG_PATH TAR_OPTIONS X_PRELOAD http_proxy npm_config_script_shell MAKEFLAGS GCONV_PATH TMPDIR SHELL`) {
		if err := CheckEnv(map[string]string{name: "x"}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, env := range []map[string]string{{"": "x"}, {"A B": "x"}, {"A=B": "x"}, {"1A": "x"}, {"Ä": "x"}, {"BASH_FUNC_x%%": "() { :; }"}, {"A": "a\x00b"}, {"A": strings.Repeat("x", 5000)}} {
		if CheckEnv(env) == nil {
			t.Errorf("%q is accepted", slices.Collect(maps.Keys(env)))
		}
	}
	j := newJudge(t, func(s *settings.Settings) { s.Allow = []string{"ls"} })
	for name, harmless := range map[string]bool{"LANG": true, "LC_ALL": true, "NO_COLOR": true, "MY_NAME": false, "DEBUG": false} {
		env := map[string]string{name: "1"}
		if err := CheckEnv(env); err != nil {
			t.Error(err)
		}
		if g := j.Judge("ls", env); g.Allowed != harmless {
			t.Errorf("%s: %+v", name, g)
		}
	}
}
