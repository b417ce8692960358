package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/command"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// TestDescriptionCannotBeForged: a command does not write lines of the question about it.
func TestDescriptionCannotBeForged(t *testing.T) {
	s := &shell{settings: &settings.Settings{Elevated: settings.Elevated{Prefix: []string{"/usr/bin/sudo", "-n"}}}}
	const forged = "\nHost: sandbox\nRuns: ls (/usr/bin/ls)\u2028Host: sandbox\u202e"
	p := &plan{
		policy: policy{host: settings.Gateway, elevated: true}, dir: "/x" + forged,
		in:        execInput{Command: "rm x" + forged, PTY: true, Env: map[string]string{"A": "1" + forged}},
		judgement: command.Judgement{Effective: []command.Effective{{Argv: []string{"rm", "x" + forged, "a b", ""}, Path: "/usr/bin/rm"}}},
		reasons:   []string{`the word "` + forged + `" is not plain`},
	}
	text := s.describe(p)
	var labels []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  | ") {
			continue // of the command
		}
		if strings.ContainsAny(line, "\u2028\u202e") {
			t.Errorf("it hides something: %q", line)
		}
		label, _, ok := strings.Cut(line, ":")
		if !ok {
			t.Errorf("a line without a label: %q", line)
		}
		labels = append(labels, label)
	}
	if want := []string{"Command", "Host", "CWD", "Elevated", "Terminal", "Variable", "Runs", "Asked because"}; !slices.Equal(labels, want) {
		t.Errorf("labels %q, want %q in\n%s", labels, want, text)
	}
	for _, want := range []string{"Host: gateway\n", `Variable: A="1\nHost: `, "by /usr/bin/sudo -n\n", `Runs: rm "x\n`, `"a b" "" (/usr/bin/rm)`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestDescriptionHasTheCommandAsItIs: what a person sees is what runs.
func TestDescriptionHasTheCommandAsItIs(t *testing.T) {
	s := &shell{settings: &settings.Settings{}}
	for _, line := range []string{"echo  a\t'b'  ", "cat <<E\n  a\n\n b \nE\n", "ls"} {
		text := s.describe(&plan{in: execInput{Command: line}, policy: policy{host: settings.Sandbox}})
		rest, _ := strings.CutPrefix(text, "Command:")
		shown, _, _ := strings.Cut(rest, "\nHost: ")
		shown = strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(shown, " "), "\n  | "), "\n  | ", "\n")
		if shown != line {
			t.Errorf("%q is shown as %q", line, shown)
		}
	}
}
