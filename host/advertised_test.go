package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/typescript"
	"github.com/quoinhq/quoin/namespaces"
)

// named returns its own id when it is called.
func named(source catalog.Source, owner, name string) catalog.Tool {
	return catalog.Tool{
		Name: name, Owner: owner, Source: source, Description: "Does " + name + " for " + owner + ".",
		Parameters: json.RawMessage(`{"type":"object"}`),
		Output:     json.RawMessage(`{"type":"string"}`),
		Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
			return json.Marshal(c.ToolID)
		},
	}
}

// oddNames meet as safe names, shadow something, or are no identifiers.
var oddNames = []string{"a-b", "a_b", "a.b", "list", "search", "describe", "call", "then", "toJSON", "exec", "wait", "1st", "é", "日本", "class", "new",
	"index", "__proto__", "constructor", "hasOwnProperty", "tool_search_code", "tool_search", "tool_describe", "tool_call", "a:b", "a b", "${x}", "*/", "__quoinX"}

// walk calls everything that a program can find, in every way that it is told of.
const walk = `
const failures = [], called = new Set(), fail = (...what) => failures.push(what.join(" "));
const reach = async (how, id, f) => { try { const got = await f(); called.add(got); if (id !== undefined && got !== id) fail(how, id, "reached", got) } catch (e) { fail(how, id, e.message) } };
const names = new Map();
for (const t of ALL_TOOLS) names.set(t.name, (names.get(t.name) ?? 0) + 1);
for (const t of ALL_TOOLS) {
  await reach("id", t.id, () => tools.call(t.id, {}));
  const d = await tools.describe(t.id);
  if (d.id !== t.id || d.output.type !== "string" || d.parameters.type !== "object") fail("describe", t.id, JSON.stringify(d));
  const found = await tools.search(t.name, {limit: 50});
  if (!found.some(f => f.id === t.id)) fail("search", t.id);
  if (names.get(t.name) === 1) {
    await reach("name", t.id, () => tools.call(t.name));
    if (found[0].id !== t.id) fail("an exact name is not first:", t.name, found[0].id);
  } else await tools.call(t.name).then(() => fail("an ambiguous name was called:", t.name), e => { if (e.code !== "ambiguous_tool") fail(t.name, e.code) });
}
const ids = new Set(ALL_TOOLS.map(t => t.id));
for (const name of Object.keys(tools)) if (!["search", "describe", "call"].includes(name)) await reach("tools." + name, undefined, () => tools[name]());
for (const t of await tools.search("", {limit: 50})) if (t.source === "mcp" ? !t.call.startsWith("MCP.") : !ids.has(t.id)) fail("search invents", t.id);
const into = async (path, node) => {
  if (typeof node === "function") return reach(path, undefined, () => node({}));
  for (const key of Object.keys(node)) await into(path + "." + key, node[key]);
};
for (const global of Object.keys(namespaces)) await into(global, globalThis[global]);
for (const id of called) if (!ids.has(id)) fail("called what is not listed:", id);
return { failures, called: called.size, listed: ids.size, functions: Object.keys(tools), namespaces: Object.keys(namespaces) };`

type walked struct {
	Failures, Functions, Namespaces []string
	Called, Listed                  int
}

// TestEverythingAdvertisedIsCallable walks what random sets of tools, with rules
// and tools of the caller, show to a program: lists, searches, descriptions,
// functions, namespaces and declarations.
func TestEverythingAdvertisedIsCallable(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			g := rand.New(rand.NewPCG(seed, 7))
			var own, client []catalog.Tool
			for _, name := range oddNames {
				for _, owner := range []string{"core", "desk", "x y"} {
					if g.IntN(3) == 0 {
						own = append(own, named(catalog.SourceQuoin, owner, name))
					}
				}
				if g.IntN(6) == 0 && !catalog.IsControl(name) {
					client = append(client, named(catalog.SourceClient, "", name))
				}
			}
			own = append(own, named(catalog.SourceMCP, "github", "list"), named(catalog.SourceQuoin, "desk", "open"), named(catalog.SourceQuoin, "desk", "close"))
			rules := policy.Rules{}
			if g.IntN(2) == 0 {
				rules.Deny = []string{"owner:x*", "a*", "quoin:desk:close"}
			}
			reg := namespaces.Registration{ID: "desk", PluginID: "desk", GlobalName: "Desk", RequiredTools: []string{"open", "close"},
				CreateScope: func(context.Context, namespaces.RunContext) (any, error) {
					return namespaces.Serialize(map[string]any{"tickets": map[string]any{"open": namespaces.Call{Tool: "open"}}, "close": namespaces.Call{Tool: "close"}}, namespaces.Limits{})
				}}
			h := start(t, host.Config{Tools: own, Namespaces: []namespaces.Registration{reg}, Rules: policy.Scopes{Rules: rules}})
			r := h.Exec(context.Background(), me, host.ExecInput{Code: walk, Tools: client})
			if r.Status != host.StatusCompleted {
				t.Fatal(show(r))
			}
			var w walked
			if err := json.Unmarshal(r.Value, &w); err != nil {
				t.Fatal(err)
			}
			for _, f := range w.Failures {
				t.Error(f)
			}
			if w.Called != w.Listed || w.Listed != r.Telemetry.CatalogSize-1 {
				t.Errorf("%d tools called, %d listed, %d in the catalog with one of MCP", w.Called, w.Listed, r.Telemetry.CatalogSize)
			}
			if visible := len(w.Namespaces) == 1; visible != rules.Empty() {
				t.Errorf("namespaces %v with the rules %v", w.Namespaces, rules)
			}
			checkFiles(t, h, w.Functions, len(client) == 0)
		})
	}
}

// checkFiles: every listed tool has a file that compiles, and every function and
// id that files declare is there.
func checkFiles(t *testing.T, h *host.Host, functions []string, whole bool) {
	t.Helper()
	files, index := h.Files(me)
	var listed []struct {
		Path  string
		Bytes int
	}
	if err := json.Unmarshal([]byte(index), &listed); err != nil {
		t.Fatal(err)
	}
	if len(listed) != len(files) {
		t.Errorf("%d files are listed and %d are there", len(listed), len(files))
	}
	for _, f := range listed {
		if len(files[f.Path]) != f.Bytes {
			t.Errorf("%s has %d bytes and is listed with %d", f.Path, len(files[f.Path]), f.Bytes)
		}
	}
	use := "export const calls = [\n"
	entries := h.Catalog(me).Tools()
	for _, e := range entries {
		if e.Source == catalog.SourceMCP {
			continue
		}
		use += fmt.Sprintf("  tools.call(%q, {}),\n", e.ID)
		if !declares(files, e.ID) {
			t.Errorf("%s has no file", e.ID)
		}
	}
	if whole {
		for _, f := range functions {
			use += fmt.Sprintf("  tools[%q],\n", f)
		}
	}
	files["guest.d.ts"] = hosttest.GuestDeclarations(t)
	files["use.ts"] = use + "];"
	typescript.Check(t, files)
}

// declares reports whether exactly one file under tools/ declares the tool.
func declares(files map[string]string, id string) bool {
	found := 0
	for path, text := range files {
		if strings.HasPrefix(path, "tools/") && strings.Contains(strings.ReplaceAll(text, `*\/`, "*/"), " Id: "+id+".") {
			found++
		}
	}
	return found == 1
}
