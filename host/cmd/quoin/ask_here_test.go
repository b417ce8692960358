//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// asksAbout is a configuration that asks a person about the calls of one tool.
const asksAbout = `{approvals: [{name: "c", tools: ["issues_create"], title: "File an issue?", subject: "$.title", allowedDecisions: ["allow-once", "allow-always", "deny"]}]}`

const prompt = `\[w\]ait\? $`

// asking is a directory with that configuration.
func asking(t *testing.T) string {
	t.Helper()
	dir := terminalDir(t)
	if err := os.WriteFile(filepath.Join(dir, "ask.json5"), []byte(asksAbout), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func keys(pairs ...string) (list []typed) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, typed{regexp.MustCompile(pairs[i]), pairs[i+1]})
	}
	return list
}

// TestAPersonIsAskedAtTheTerminal: exec shows the call and asks, and continues with the
// answer.
func TestAPersonIsAskedAtTheTerminal(t *testing.T) {
	t.Parallel()
	const twice = `text("one"); const made = []; for (const title of ["shoes", "socks"]) { try { made.push((await Issues.create({title})).title) } catch (e) { made.push(e.code) } } return made.join()`
	for _, tc := range []struct {
		name, code string
		keys       []typed
		exit       int
		want       []string // one after the other
	}{
		{"allowed and denied", twice, keys(prompt, "a\n", prompt, "d\n"), 0,
			[]string{"one\n", "title          File an issue?\n", "quoin:issues:issues_create\n", `"title": "shoes"`, "[a]llow once, [A]lways allow, [d]eny, [e]dit, [w]ait? a\n",
				`"title": "socks"`, "? d\n", "\"shoes,denied\"\n"}},
		{"always", `for (const _ of [1, 2]) await Issues.create({title: "same"}); return 2`, keys(prompt, "A\n"), 0, []string{"? A\n", "\x1b[J2\n"}},
		{"edited", twice, keys(prompt, "x\n", prompt, "e\n", `FILE: $`, "{\"title\":\"boots\"}\n", prompt, "d\n"), 0,
			[]string{"type the letter in brackets\n", "\"boots,denied\"\n"}},
		{"edited badly", twice, keys(prompt, "e\n", `FILE: $`, "{\"title\":7}\n", prompt, "d\n", prompt, "d\n"), 0,
			[]string{"answer does not fit what was asked", "\"denied,denied\"\n"}},
		{"left", twice, keys(prompt, "w\n"), 3, []string{"? w\n", "quoin: waiting: approval, as run_", "go on with: quoin wait run_"}},
		{"end of input", twice, keys(prompt, "\x04"), 3, []string{"go on with: quoin wait run_"}},
		{"interrupted", twice, keys(prompt, "\x03"), 3, []string{"go on with: quoin wait run_"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			out, exit := typedOnTerminal(t, asking(t), tc.keys, nil, "exec", "--config", "ask.json5", "-e", tc.code)
			rest := out
			for _, want := range tc.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Errorf("%q is missing or comes too early", want)
				}
				rest = after
			}
			if exit != tc.exit || t.Failed() {
				t.Errorf("exit code %d, want %d, printed\n%s", exit, tc.exit, out)
			}
		})
	}
}

// TestAllowGoesOn: on a terminal, approvals allow continues the run of an exec, unless it is
// told not to.
func TestAllowGoesOn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		exec, allow []string
		want        string
	}{
		"goes on":         {nil, nil, `^File an issue\?: allow-once\n(.*\n)*.*"done"\n`},
		"left":            {nil, []string{"--resume=false"}, `go on with: quoin wait run_`},
		"another session": {[]string{"--session", "model"}, nil, `go on with: quoin wait run_.* --session model\n`},
		"that session":    {[]string{"--session", "model"}, []string{"--session", "model"}, `^File an issue\?: allow-once\n(.*\n)*.*"done"\n`},
		"json":            {nil, []string{"--json"}, `^\{\n  "id"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := asking(t)
			out, exit := typedOnTerminal(t, dir, keys(prompt, "w\n"), nil, append(tc.exec, "exec", "--config", "ask.json5", "-e", `await Issues.create({title: "one"}); return "done"`)...)
			if exit != 3 {
				t.Fatalf("exit code %d, printed\n%s", exit, out)
			}
			id := regexp.MustCompile(`apr_[0-9a-f]{32}`).FindString(out)
			out, exit = typedOnTerminal(t, dir, nil, nil, append([]string{"approvals", "allow", id}, tc.allow...)...)
			if exit != 0 || !regexp.MustCompile(tc.want).MatchString(out) {
				t.Errorf("exit code %d, printed\n%s\nwant %s", exit, out, tc.want)
			}
		})
	}
}
