//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/quoinhq/quoin/internal/hosttest"
)

// onTerminal runs the command on a terminal of 60 columns, and returns what came onto
// it and the exit code.
func onTerminal(t *testing.T, env []string, args ...string) (string, int) {
	t.Helper()
	return interruptedOnTerminal(t, nil, env, args...)
}

// interruptedOnTerminal is onTerminal, and sends the command Ctrl-C once the terminal's output
// matches seen; nil for never.
func interruptedOnTerminal(t *testing.T, seen *regexp.Regexp, env []string, args ...string) (string, int) {
	t.Helper()
	var keys []typed
	if seen != nil {
		keys = append(keys, typed{seen, "\x03"})
	}
	return typedOnTerminal(t, terminalDir(t), keys, env, args...)
}

// typed is what a person types once what has come onto the terminal since the last time
// matches seen.
type typed struct {
	seen *regexp.Regexp
	text string
}

// terminalDir is a directory in which a command on a terminal has everything of its own.
func terminalDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := hosttest.Install(filepath.Join(dir, "data", "quoin", "plugins"), "issues"); err != nil {
		t.Fatal(err)
	}
	return dir
}

// typedOnTerminal is onTerminal in a directory, with a person who types.
func typedOnTerminal(t *testing.T, dir string, keys []typed, env []string, args ...string) (string, int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &osexec.Cmd{Path: self, Args: append([]string{"quoin"}, args...), Dir: dir}
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "XDG_STATE_HOME="+filepath.Join(dir, "state"),
		"XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "XDG_DATA_HOME="+filepath.Join(dir, "data"), "QUOIN_GUEST_PATH="+guest, "COLUMNS=")
	cmd.Env = append(cmd.Env, env...)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 60})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	var out []byte
	since := 0
	for part := make([]byte, 4096); err == nil; {
		var n int
		n, err = terminal.Read(part)
		out = append(out, part[:n]...)
		if len(keys) > 0 && keys[0].seen.Match(out[since:]) {
			since = len(out)
			if _, err := terminal.WriteString(keys[0].text); err != nil {
				t.Fatal(err)
			}
			keys = keys[1:]
		}
	}
	if err != io.EOF && !errors.Is(err, syscall.EIO) { // Linux says so at the end
		t.Fatal(err)
	}
	var exit *osexec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n"), cmd.ProcessState.ExitCode()
}

// erased matches the end of what is rewritten.
var erased = regexp.MustCompile(`\x1b\[\d+A\x1b\[J`)

// bidi matches the escapes of characters that change the direction of text.
const bidi = `\\u202a\\u202e\\u2066\\u2069\\u200e\\u200f\\u061c`

// TestResultsForPeople: on a terminal a result is its output, its value, and one dim
// line; calls are shown while they run and taken away.
func TestResultsForPeople(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		env  []string
		args []string
		exit int
		want string // what stands there in the end
	}{
		{"value", nil, []string{"exec", "-e", `return 6 * 7`}, 0, `^42\n\x1b\[2mcompleted · .*\x1b\[0m\n$`},
		{"output", nil, []string{"exec", "-e", `text("one\ntwo"); json({a: 1}); return {b: [1]}`}, 0,
			`^one\ntwo\n\{\n  "a": 1\n\}\n\{\n  "b": \[\n    1\n  \]\n\}\n\x1b\[2mcompleted · .*\n$`},
		{"nothing", nil, []string{"exec", "-e", `1`}, 0, `^\x1b\[2mcompleted · .*\n$`},
		{"no colours", []string{"NO_COLOR=1"}, []string{"exec", "-e", `return 1`}, 0, `^1\ncompleted · [^\x1b]*\n$`},
		{"control characters", nil, []string{"exec", "-e", `text("a\x1b[2Jb\u009bc"); return "d\u009b\u202e"`}, 0,
			`^a\\x1b\[2Jb\\u009bc\n"d\\u009b\\u202e"\n\x1b\[2mcompleted · .*\n$`},
		{"bidi controls", nil, []string{"exec", "-e", `const bidi = "\u202a\u202e\u2066\u2069\u200e\u200f\u061c"; text(bidi); return {[bidi]: bidi + "\x7f\u{e0001}"}`}, 0,
			`^` + bidi + `\n\{\n  "` + bidi + `": "` + bidi + `\\u007f\\udb40\\udc01"\n\}\n\x1b\[2mcompleted · .*\n$`},
		{"bidi controls, quiet", nil, []string{"exec", "-q", "-e", `return ["\u202e\x9b"]`}, 0, `^\["\\u202e\\u009b"\]\n$`},
		{"bidi controls, json", nil, []string{"exec", "--json", "-e", `text("\u2067"); return "\u202e\x9b"`}, 0, `^\{\n(.*\n)*  "value": "\\u202e\\u009b",\n(.*\n)*.*"\\u2067"(.*\n)*\}\n$`},
		{"bidi controls, failure", nil, []string{"exec", "-e", `throw new Error("\u202e\u2066")`}, 1, `^quoin: failed: Error: \\u202e\\u2066\n`},
		{"failure", nil, []string{"exec", "-e", `text("so far"); throw new TypeError("no")`}, 1,
			`^so far\nquoin: failed: TypeError: no\n(.*\n)*\x1b\[2mfailed · internal_error · .*\n$`},
		{"failure in its place", nil, []string{"exec", "-e", "const a = 1;\nreturn a.b.c"}, 1,
			`^quoin: failed: TypeError: .*\n(.*\n)*  return a\.b\.c\n {6,}\^\n\x1b\[2mfailed`},
		{"waiting", nil, []string{"exec", "-e", `await yield_control()`}, 3, `^quoin: waiting: yield, as run_[0-9a-f]+\n  bridge:yield:1\n\x1b\[2mwaiting · .*\ngo on with: quoin wait run_.*\n$`},
		{"quiet", nil, []string{"exec", "-q", "-e", `text("x"); return "plain \x1b[2J"`}, 0, `^plain \\x1b\[2J\n$`},
		{"json", nil, []string{"exec", "--json", "-e", `return 1`}, 0, `^\{\n  "status": "completed",\n  "value": 1,(.*\n)*\}\n$`},
		{"calls", nil, []string{"exec", "-e", `for (const t of ["a", "b"]) await Issues.create({title: t}); return 2`}, 0,
			`^2\n\x1b\[2mcompleted · .* · 2 calls · .*\n$`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			out, exit := onTerminal(t, tc.env, tc.args...)
			rest := out
			if at := erased.FindAllStringIndex(out, -1); at != nil {
				rest = out[at[len(at)-1][1]:]
			}
			if exit != tc.exit || !regexp.MustCompile(tc.want).MatchString(rest) {
				t.Errorf("exit code %d, printed\n%q\nwant %d and %s", exit, out, tc.exit, tc.want)
			}
		})
	}
}

// TestCallsFitTheScreen: a line is never wider than the terminal, and of many calls
// only the newest stand there. The program calls until the test has seen them: calls
// that end just before their program may never come onto the screen.
func TestCallsFitTheScreen(t *testing.T) {
	t.Parallel()
	out, exit := interruptedOnTerminal(t, regexp.MustCompile(`… 12 calls before`), nil, "exec", "-e", `
		for (;;) {
			await Issues.create({title: "a"})
			try { await Issues.get(1000000) } catch {}
		}`)
	if exit != 1 || !strings.Contains(out, "✓ Issues.create") || !strings.Contains(out, "✗ Issues.get") {
		t.Errorf("exit code %d, printed\n%s", exit, out)
	}
	if tall := regexp.MustCompile(`\x1b\[\d{2,}A`).FindString(out); tall != "" {
		t.Errorf("%q: more than nine lines stood there", tall)
	}
	ends := erased.FindAllStringIndex(out, -1)
	if ends == nil {
		t.Fatalf("the calls were not taken away:\n%s", out)
	}
	drawn := out[:ends[len(ends)-1][0]] // the result is written once, and may wrap
	plain := regexp.MustCompile(`\x1b\[\d*[A-Za-z]`).ReplaceAllString(drawn, "")
	for line := range strings.Lines(plain) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 60 {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
}
