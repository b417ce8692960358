package modeltools

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/namespaces"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

// offered returns what runs reach with these tools and two namespaces.
func offered(t *testing.T, tools []catalog.Tool) Offer {
	t.Helper()
	registry := namespaces.NewRegistry()
	for _, id := range []string{"issues", "calendar"} {
		if err := registry.Register(namespaces.Registration{
			ID: id, GlobalName: strings.ToUpper(id[:1]) + id[1:], PluginID: id, RequiredTools: []string{id + "_list"},
			Description: "All about\n" + id + ".", Prompt: "await " + strings.ToUpper(id[:1]) + id[1:] + ".list() returns them.",
			CreateScope: func(context.Context, namespaces.RunContext) (any, error) { return map[string]any{}, nil },
		}); err != nil {
			t.Fatal(err)
		}
	}
	c, err := catalog.New(tools, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Offer{Catalog: c, Namespaces: registry.Visible(c)}
}

var promptTools = []catalog.Tool{
	{Name: "issues_list", Owner: "issues", Description: "Lists issues.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"state":{"type":"string","enum":["open","closed"]},"limit":{"type":"integer"}}}`),
		Output:     json.RawMessage(`{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"title":{"type":"string"}},"required":["id","title"]}}`)},
	{Name: "read", Description: "Reads a file. It must exist."},
}

// TestExecDescription: what a model is told, to the letter.
func TestExecDescription(t *testing.T) {
	t.Parallel()
	o := offered(t, promptTools)
	hosttest.Golden(t, *update, filepath.Join("testdata", "exec.txt"), []byte(execDescription(o, codemode.Settings{}.WithDefaults())+"\n"))
	hosttest.Golden(t, *update, filepath.Join("testdata", "wait.txt"), []byte(waitDescription(codemode.Settings{}.WithDefaults())+"\n"))
	empty := execDescription(offered(t, nil), codemode.Settings{}.WithDefaults())
	for _, absent := range []string{"tools.NAME", "ALL_TOOLS", "Issues", "MCP", "tools/", "namespaces/"} {
		if strings.Contains(empty, absent) {
			t.Errorf("without tools the description has %q:\n%s", absent, empty)
		}
	}
}

// TestDescriptionNamesFilesThatExist: a kind of declaration file is named where
// there are some.
func TestDescriptionNamesFilesThatExist(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		tools []catalog.Tool
		want  string
	}{
		{nil, "declarations: guest.d.ts\n"},
		{promptTools[1:], "declarations: guest.d.ts, tools/NAME.d.ts\n"},
		{promptTools, "declarations: guest.d.ts, tools/NAME.d.ts, namespaces/NAME.d.ts\n"},
	} {
		if text := execDescription(offered(t, tc.tools), codemode.Settings{}.WithDefaults()); !strings.Contains(text, tc.want) {
			t.Errorf("want %q in\n%s", tc.want, text)
		}
	}
}

// TestDescriptionHasTheLimitsInForce, and the languages.
func TestDescriptionHasTheLimitsInForce(t *testing.T) {
	t.Parallel()
	s := codemode.Settings{Timeout: 2500e6, MemoryLimit: 32 << 20, MaxOutput: 2048, MaxPendingCalls: 3, SnapshotTTL: 90e9, OnOutputLimit: codemode.OutputTruncate, Languages: []string{codemode.LanguageTypeScript}}.WithDefaults()
	exec, wait := Definitions(offered(t, promptTools), s)
	for _, want := range []string{"2500 ms", "32 MiB", "2048 bytes", "the rest is cut off", "3 tool calls at once", "the others queue", "Runs a TypeScript program"} {
		if !strings.Contains(exec.Description, want) {
			t.Errorf("the description lacks %q:\n%s", want, exec.Description)
		}
	}
	if !strings.Contains(wait.Description, "90 s") {
		t.Errorf("wait: %s", wait.Description)
	}
	if want := `"language":{"type":"string","enum":["typescript"]`; !strings.Contains(string(exec.Parameters), want) || !strings.Contains(string(exec.Parameters), `"required":["code","language"]`) {
		t.Errorf("the schema lacks %s: %s", want, exec.Parameters)
	}
	js, _ := Definitions(offered(t, nil), codemode.Settings{Languages: []string{codemode.LanguageJavaScript}}.WithDefaults())
	if strings.Contains(string(js.Parameters), "language") {
		t.Errorf("the only language is asked for: %s", js.Parameters)
	}
}

// TestNamespaceBlocks: a block for each visible namespace, and no word of others.
func TestNamespaceBlocks(t *testing.T) {
	t.Parallel()
	both := append([]catalog.Tool{{Name: "calendar_list", Owner: "calendar"}}, promptTools...)
	text := execDescription(offered(t, both), codemode.Settings{}.WithDefaults())
	for _, want := range []string{"Issues: All about issues.\nawait Issues.list() returns them.", "Calendar: All about calendar."} {
		if !strings.Contains(text, want) {
			t.Errorf("the description lacks %q:\n%s", want, text)
		}
	}
	for name, tools := range map[string][]catalog.Tool{
		"tool absent":   promptTools,
		"another owner": append([]catalog.Tool{{Name: "calendar_list", Owner: "impostor"}}, promptTools...),
	} {
		if text := execDescription(offered(t, tools), codemode.Settings{}.WithDefaults()); strings.Contains(text, "Calendar") {
			t.Errorf("%s: the description has a namespace that is not visible:\n%s", name, text)
		}
	}
}

// TestDescriptionIsBounded: however much tools and namespaces say.
func TestDescriptionIsBounded(t *testing.T) {
	t.Parallel()
	o := offered(t, nil)
	for i := range 100 {
		o.Namespaces = append(o.Namespaces, namespaces.Registration{GlobalName: fmt.Sprintf("Space%d", i), Description: strings.Repeat("é ", 5000), Prompt: strings.Repeat("ü", 5000)})
	}
	text := namespaceBlocks(o)
	if len(text) > maxNamespaceBlocks+100 || !utf8.ValidString(text) || strings.Count(text, "\n\nSpace") != 3 {
		t.Errorf("%d bytes, %d blocks", len(text), strings.Count(text, "\n\nSpace"))
	}
	tools := make([]catalog.Tool, 5000)
	for i := range tools {
		tools[i] = catalog.Tool{Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("word ", 100)}
	}
	with, without := execDescription(offered(t, tools), codemode.Settings{}.WithDefaults()), execDescription(offered(t, nil), codemode.Settings{}.WithDefaults())
	if n := len(with) - len(without); n > catalog.QuickIndexBytes+600 {
		t.Errorf("5000 tools add %d bytes to the description", n)
	}
	if len(without) > 1800 {
		t.Errorf("the description has %d bytes before any tool", len(without))
	}
}

// TestProviderShapes pins the definitions as each provider gets them.
func TestProviderShapes(t *testing.T) {
	t.Parallel()
	exec, wait := Definitions(offered(t, promptTools), codemode.Settings{}.WithDefaults())
	tools := []catalog.Tool{exec, wait, {Name: "screenshot", Label: "Take a picture", Description: "Takes a picture.", Parameters: json.RawMessage(`{"type":"object","properties":{"of":{"type":"string"}}}`)}, {Name: "bare"}}
	for _, p := range Providers() {
		got, err := Render(p, tools)
		if err != nil {
			t.Fatal(err)
		}
		for _, union := range []string{"oneOf", "anyOf", "allOf", `["string"`} {
			if bytes.Contains(got, []byte(union)) {
				t.Errorf("%s: there is a union: %s", p, union)
			}
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, got, "", "  "); err != nil {
			t.Fatal(err)
		}
		hosttest.Golden(t, *update, filepath.Join("testdata", string(p)+".json"), append(indented.Bytes(), '\n'))
		if none, err := Render(p, nil); err != nil || string(none) != "[]" {
			t.Errorf("%s: no tools are %s, %v", p, none, err)
		}
		if _, err := Render(p, []catalog.Tool{{Name: "a", Parameters: json.RawMessage(`[]`)}}); err == nil {
			t.Errorf("%s: a list passed for a schema", p)
		}
	}
	if _, err := Render("other", tools); err == nil {
		t.Error("an unknown provider has a shape")
	}
}
