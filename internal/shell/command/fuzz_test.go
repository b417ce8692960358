package command

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// FuzzJudge judges any line. What is allowed has only words in quotes and files of the
// trusted directory, and judged again it is the same.
func FuzzJudge(f *testing.F) {
	for _, name := range []string{"harmless.txt", "evasions.txt"} {
		lines, _ := corpus(f, name)
		for _, line := range lines {
			f.Add(line)
		}
	}
	dir := programs(f, probe)
	j := newJudge(f, func(s *settings.Settings) { s.Path = []string{dir}; realistic(s) })
	f.Fuzz(func(t *testing.T, line string) {
		g := j.Judge(line, nil)
		switch {
		case g.Refused && (g.Allowed || g.Line != "" || g.Subject != ""):
			t.Fatalf("%q is refused, and %+v", line, g)
		case g.Allowed && g.Line == "", g.Subject != "" && g.Line == "":
			t.Fatalf("%q: %+v", line, g)
		case !g.Allowed && len(g.Reasons) == 0:
			t.Fatalf("%q is not allowed without a reason", line)
		case len(g.Effective) > maxCommands, !utf8.ValidString(strings.Join(g.Reasons, "")):
			t.Fatalf("%q: %+v", line, g)
		}
		if g.Line == "" {
			return
		}
		checkLine(t, g.Line, dir)
		if !strings.Contains(g.Line, quote(gitSettings[0])) && !strings.Contains(g.Line, "'-buildvcs=false'") && len(g.Line) < settings.MaxCommandBytes {
			if again := j.Judge(g.Line, nil); again.Line != g.Line || again.Allowed != g.Allowed || again.Subject != g.Subject {
				t.Fatalf("%q becomes %q (%v), and that %q (%v) %q", line, g.Line, g.Allowed, again.Line, again.Allowed, again.Reasons)
			}
		}
	})
}

// checkLine checks the form of a line that is to be run.
func checkLine(t *testing.T, line, dir string) {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				t.Fatalf("%q has no command", line)
			}
			checkProgram(t, line, dir, n.Args[0])
		case *syntax.CmdSubst, *syntax.ParamExp, *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob, *syntax.FuncDecl, *syntax.DblQuoted, *syntax.DeclClause:
			t.Fatalf("%q has a %T", line, n)
		}
		return true
	})
}

func checkProgram(t *testing.T, line, dir string, w *syntax.Word) {
	t.Helper()
	name := w.Lit()
	if name != "" {
		if !slices.Contains([]string{"cd", "pwd", ":", "true", "false", "exit", "type", "command"}, name) {
			t.Fatalf("%q starts %q", line, name)
		}
		return
	}
	text := ""
	for _, p := range w.Parts {
		q, ok := p.(*syntax.SglQuoted)
		if !ok {
			t.Fatalf("%q has a program that is not in quotes", line)
		}
		text += q.Value
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil || filepath.Dir(text) != real {
		t.Fatalf("%q starts %q", line, text)
	}
}
