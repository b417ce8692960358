package guestserver

import (
	"os"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/quoinhq/quoin/internal/wire"
)

// readTable returns the texts of a file of testdata/shell, which lines of dashes
// separate. No text is run.
func readTable(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/shell/" + name)
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n----\n")
	if len(list) < 60 {
		t.Fatalf("%s has %d texts, want 60", name, len(list))
	}
	return list
}

// refusalOf returns the reason with which a source is refused, also where the
// engine, for which esbuild stands in, is what refuses it.
func refusalOf(t *testing.T, lang, source string) string {
	t.Helper()
	c := wire.Cell{Language: lang, Source: source, Limits: wire.Limits{}.Filled()}
	p, refusal := prepare(c)
	if refusal != nil {
		return refusal.Reason
	}
	if r := api.Transform(string(p.cell.Source), checkOptions(nil)); len(r.Errors) == 0 {
		return ""
	}
	return p.syntaxError(c, &wire.GuestError{Reason: wire.ReasonSyntaxError}).Reason
}

func TestRealShellCommandsAreShell(t *testing.T) {
	for _, source := range readTable(t, "commands.txt") {
		for _, lang := range []string{"javascript", "typescript"} {
			if got := refusalOf(t, lang, source); got != wire.ReasonShellCommand {
				t.Errorf("%s %q: reason %q", lang, source, got)
			}
		}
	}
}

func TestBrokenProgramsAreSyntaxErrors(t *testing.T) {
	for _, source := range readTable(t, "programs.txt") {
		if got := refusalOf(t, "javascript", source); got != wire.ReasonSyntaxError && got != wire.ReasonModuleAccess {
			t.Errorf("javascript %q: reason %q", source, got)
		}
		switch got := refusalOf(t, "typescript", source); got {
		case wire.ReasonTypeScriptFailed, wire.ReasonModuleAccess, "":
		default:
			t.Errorf("typescript %q: reason %q", source, got)
		}
	}
}

func TestModulesAmongLinesOfAShellAreModules(t *testing.T) {
	for _, source := range []string{
		"let n = 0;\ndo { n++ } while (n < 3)\nreturn require(\"x\")",
		"const done = require('fs')\ndone\n",
		"import x from 'y';\ndo { x() } while (false)",
	} {
		if got := refusalOf(t, "javascript", source); got != wire.ReasonModuleAccess {
			t.Errorf("%q: reason %q", source, got)
		}
	}
}

func TestAJavaScriptHashbangIsAComment(t *testing.T) {
	const line = "#!/usr/bin/env node"
	for _, lang := range []string{"javascript", "typescript"} {
		for _, before := range []string{"", "\ufeff"} { // an editor of Windows writes it
			if got := refusalOf(t, lang, before+line+"\nreturn 1"); got != "" {
				t.Errorf("%s %q: reason %q", lang, before, got)
			}
		}
	}
	_, refusal := prepare(wire.Cell{Language: "typescript", Source: line + "\nlet x: = 1"})
	if refusal == nil || !strings.Contains(refusal.Message, "cell.ts:2:8") {
		t.Errorf("the place is lost: %+v", refusal)
	}
}
