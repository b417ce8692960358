package prelude_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/guestrt/internal/prelude"
	"github.com/quoinhq/quoin/internal/typescript"
)

// program uses every global as its declaration says.
const program = `
const found: readonly ToolEntry[] = await tools.search("x", { limit: 2 });
const { parameters, output } = await tools.describe(found[0]!.id);
const controller = new AbortController();
const signal: AbortSignal = AbortSignal.any([controller.signal, AbortSignal.timeout(10), AbortSignal.abort()]);
await tools.call("a", { x: 1 }, { signal });
await tools.web_search({ q: 1 }, { signal });
await MCP.github!.createIssue({ title: "t" }, { signal });
await namespaces.Issues.list();
signal.addEventListener("abort", (e) => text(e.type), { once: true });
const name: string = results.save("n", [1]);
results.load(results.save(1)); const gone: boolean = results.delete(name);
const { content, bytes } = await API.read((await API.list("tools")).files[0]!.path);
const listed: number[] = await Array.fromAsync([1, Promise.resolve(2)], async (n) => n + 1);
class Lock implements Disposable { [Symbol.dispose]() {} }
{ using lock = new Lock(); await using other = { async [Symbol.asyncDispose]() {} }; text([lock, other]); }
const since: number = performance.timeOrigin + performance.now();
const id: number = setTimeout((n: number) => text(n), 5, 1);
clearTimeout(id); clearInterval(setInterval(() => {}, 1)); queueMicrotask(() => {});
const copy: Map<string, number> = structuredClone(new Map([["a", 1]]));
const raw: Uint8Array = new TextEncoder().encode(atob(btoa("x")));
const words: string = new TextDecoder("utf-8", { fatal: true }).decode(raw, { stream: true });
const url = new URL("/x", new URL("http://a")); url.searchParams.set("a", "b");
for (const [k, v] of new URLSearchParams({ a: "b" })) json({ [k]: v });
crypto.getRandomValues(new Uint8Array(4)); const uuid: string = crypto.randomUUID();
console.log(listed, since, parameters, output, content, bytes, gone, copy, words, uuid, ALL_TOOLS.length);
try { signal.throwIfAborted(); } catch (e) { text((e as CallError).effectStatus); }
await yield_control("reason");
export {};
`

func TestDeclarationsCompile(t *testing.T) {
	typescript.Check(t, map[string]string{"guest.d.ts": prelude.Declarations, "program.ts": program})
}

func TestDeclarationsRefuseMistakes(t *testing.T) {
	for _, mistake := range []string{
		"text(1, 2)", "tools.call()", "tools = 1", "new AbortSignal()", "process.exit()", "require('fs')", "document", "fetch('x')",
		"results.load(5)", "ALL_TOOLS[0].id = 'x'", "(await API.read('x')).content = 'y'", "API.list().files", "performance.mark('x')", "Symbol.dispose = 1", "setTimeout('code', 1)", "crypto.subtle",
	} {
		if said := typescript.Complaints(t, map[string]string{"guest.d.ts": prelude.Declarations, "program.ts": mistake + "; export {}"}); said == "" {
			t.Errorf("TypeScript accepts %s", mistake)
		}
	}
}

var declared = regexp.MustCompile(`(?m)^declare (?:const|function|class) (\w+)`)

// TestDeclarationsNameTheGlobals: every global of the prelude is declared once,
// or as an overload, and every declared one exists.
func TestDeclarationsNameTheGlobals(t *testing.T) {
	var names []string
	for _, m := range declared.FindAllStringSubmatch(prelude.Declarations, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	if diff := cmp.Diff(prelude.Reserved(), slices.Compact(names)); diff != "" {
		t.Errorf("globals (-Reserved +declared):\n%s", diff)
	}
}

// TestDeclarationsSayWhatGlobalsAreFor: an editor shows a line about each global.
func TestDeclarationsSayWhatGlobalsAreFor(t *testing.T) {
	lines := strings.Split(prelude.Declarations, "\n")
	for i, line := range lines {
		if m := declared.FindStringSubmatch(line); m != nil && !strings.HasSuffix(lines[i-1], "*/") {
			t.Errorf("%s has no comment", m[1])
		}
	}
}

var (
	declaredClass  = regexp.MustCompile(`(?ms)^(?:declare class|interface) (\w+)[^{]*\{\n(.*?)^\}`)
	declaredMember = regexp.MustCompile(`(?m)^  (static )?(?:readonly )?(\w+)[(<:]`)
)

// TestDeclaredMembersExist: what the classes, console and tools are said to have,
// they have.
func TestDeclaredMembersExist(t *testing.T) {
	holders := map[string]string{"Console": "console", "Tools": "tools"}
	var checks []string
	for _, class := range declaredClass.FindAllStringSubmatch(prelude.Declarations, -1) {
		name, body := class[1], class[2]
		for _, m := range declaredMember.FindAllStringSubmatch(body, -1) {
			switch {
			case m[2] == "constructor":
			case holders[name] != "":
				checks = append(checks, holders[name]+" "+m[2])
			case !slices.Contains(prelude.Reserved(), name):
			case m[1] != "":
				checks = append(checks, name+" "+m[2])
			default:
				checks = append(checks, name+".prototype "+m[2])
			}
		}
	}
	if len(checks) < 50 {
		t.Fatalf("%d members are declared", len(checks))
	}
	source := `const at = {AbortController, AbortSignal, TextDecoder, TextEncoder, URL, URLSearchParams}
		return ` + "`" + strings.Join(checks, ";") + "`" + `.split(";").filter((c) => {
			const [holder, member] = c.split(" "), [name, proto] = holder.split(".")
			return !(member in (proto ? at[name].prototype : at[name] ?? globalThis[name]))
		})`
	got := run(t, newPlain(t), source, noConfig, false)
	if got.Value != "[]" {
		t.Errorf("declared and missing: %s %+v", got.Value, got.Err)
	}
}

// TestDeclarationsNameFilesThatThereAre: hosts serve declarations of tools,
// namespaces, MCP servers and saved programs.
func TestDeclarationsNameFilesThatThereAre(t *testing.T) {
	var folders []string
	for _, m := range regexp.MustCompile(`(\w+)/[^\s/]+\.d\.ts`).FindAllStringSubmatch(prelude.Declarations, -1) {
		folders = append(folders, m[1])
	}
	slices.Sort(folders)
	if diff := cmp.Diff([]string{"mcp", "namespaces", "programs", "tools"}, slices.Compact(folders)); diff != "" {
		t.Error(diff)
	}
}

func TestDeclarationsAreAFile(t *testing.T) {
	data, found := prelude.File("api/guest.d.ts")
	if !found || string(data) != prelude.Declarations {
		t.Error("api/guest.d.ts is not the declarations")
	}
	about, found := prelude.File("api/guest.d.ts.json")
	files := maps.Clone(hostFiles)
	t.Cleanup(func() { hostFiles = files })
	hostFiles = maps.Clone(files)
	hostFiles["api/guest.d.ts"], hostFiles["api/guest.d.ts.json"] = string(data), string(about)
	got := run(t, newPlain(t), `const f = await API.read("guest.d.ts"); return [new TextEncoder().encode(f.content).length === f.bytes, (await API.list("guest")).files.length]`, noConfig, false)
	if !found || got.Value != "[true,1]" {
		t.Errorf("%s, %+v", got.Value, got.Err)
	}
	if _, found := prelude.File("catalog.json"); found {
		t.Error("the prelude serves a file of the host's")
	}
}
