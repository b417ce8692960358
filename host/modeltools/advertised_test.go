package modeltools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// section returns the part of a text between two marks.
func section(t *testing.T, text, start, end string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, start)
	if !ok {
		t.Fatalf("%q is not in\n%s", start, text)
	}
	part, _, _ := strings.Cut(rest, end)
	return part
}

// TestEverythingAdvertisedWorks: each global of the description is there in a
// guest, and the example runs.
func TestEverythingAdvertisedWorks(t *testing.T) {
	t.Parallel()
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	read := func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return json.RawMessage(`"read"`), nil
	}
	h, err := host.New(context.Background(), host.Config{Guests: host.GuestConfig{Path: guest}, Tools: []catalog.Tool{
		{Name: "read", Description: "Reads open issues.", Invoke: read},
		{Name: "fetch", Source: catalog.SourceMCP, Owner: "web", Invoke: read},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	run := func(code string) string {
		t.Helper()
		r := h.Exec(context.Background(), host.Session{}, host.ExecInput{Code: code})
		if r.Status != host.StatusCompleted {
			t.Errorf("%s\n%s: %s", code, r.Status, r.Error)
		}
		return string(r.Value)
	}
	exec, _ := h.Catalog(host.Session{}).Definitions()
	empty, err := catalog.New(nil, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range modeltools.GuestGlobals() {
		if !strings.Contains(exec.Description, g.Line) {
			t.Errorf("the description lacks %q", g.Line)
		}
		for _, name := range g.Names {
			if !strings.Contains(g.Line, name) || run("return typeof "+name) == `"undefined"` {
				t.Errorf("the line %q is about %s, which is not there", g.Line, name)
			}
		}
	}
	if got := run(section(t, exec.Description, "Example:\n", "\n\n")); !strings.Contains(got, "quoin:core:read") {
		t.Errorf("the example returns %s", got)
	}
	if got := run(modeltools.PromptExample(modeltools.Offer{Catalog: empty})); got != "[3,5,5,3]" {
		t.Errorf("the example without tools returns %s", got)
	}
	if line := "declarations: guest.d.ts, tools/NAME.d.ts\n"; !strings.Contains(exec.Description, line) {
		t.Errorf("the description does not have the line %q: read what it names", line)
	}
	for _, path := range []string{`"guest.d.ts"`, `"tools/read.d.ts"`} {
		if got := run("return (await API.read(" + path + ")).content.length > 0 && (await API.list()).files.some((f) => f.path === " + path + ")"); got != "true" {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := run(`results.save("a", [1]); const [x] = results.load("a"); return [x, results.delete("a")]`); got != "[1,true]" {
		t.Errorf("results: %s", got)
	}
	for line := range strings.SplitSeq(section(t, exec.Description, "does):\n", "\n\n"), "\n") {
		call, _, _ := strings.Cut(line, "  ")
		if got := run("return await " + call); got != `"read"` {
			t.Errorf("%s returns %s", call, got)
		}
	}
}
