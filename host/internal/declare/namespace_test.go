package declare_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/declare"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/typescript"
	"github.com/quoinhq/quoin/namespaces"
)

// issueTool takes one of everything.
var issueTool = catalog.Tool{Name: "edit", Description: "Edits an issue.", Idempotent: true,
	Parameters: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["id","title"],"properties":{
		"id":{"type":"integer","description":"Its number."},"title":{"type":"string"},"delete":{"type":"boolean"},
		"state":{"enum":["open","closed"]},"labels":{"type":"array","items":{"type":["string","null"]}}}}`),
	Output: json.RawMessage(`{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"parent":{"$ref":"#"}}}`),
}

func finder(tools ...catalog.Tool) func(string) *catalog.Tool {
	return func(name string) *catalog.Tool {
		for i := range tools {
			if tools[i].Name == name {
				return &tools[i]
			}
		}
		return nil
	}
}

func registration(global string) *namespaces.Registration {
	return &namespaces.Registration{GlobalName: global, Description: "Issues.", Prompt: "Use them."}
}

func scopeOf(t testing.TB, content any) *namespaces.Scope {
	t.Helper()
	s, err := namespaces.Serialize(content, namespaces.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func verb(tool string, m namespaces.Mapping) namespaces.Call {
	return namespaces.Call{Tool: tool, Mapping: m}
}

func positional(names ...string) namespaces.Mapping {
	return namespaces.Mapping{Kind: namespaces.MapPositional, Positional: names}
}

type fixed = map[string]json.RawMessage

func TestNamespace(t *testing.T) {
	scope := scopeOf(t, map[string]any{"edit": verb("edit", namespaces.Mapping{Kind: namespaces.MapPositional,
		Positional: []string{"id", "title"}, Fixed: fixed{"state": json.RawMessage(`"open"`)}}),
		"desk": map[string]any{"name": "front", "open": true}})
	got := string(declare.Namespace(registration("Issues"), scope, finder(issueTool)))
	want := `interface Namespaces {
  /**
   * Issues.
   *
   * Use them.
   */
  readonly Issues: {
    readonly desk: {
      readonly name: "front";
      readonly open: true;
    };
    /**
     * Edits an issue.
     * @param id Its number. Integer.
     */
    edit(id: number, title: string, options?: { signal: AbortSignal }): Promise<Namespaces_Issues_edit_Output>;
  };
}

declare const Issues: Namespaces["Issues"];

type Namespaces_Issues_edit_Output = {
  /** Integer. */
  id: number;
  parent?: Namespaces_Issues_edit_Output;
};
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// places are what may stand in a scope, and its type. The types of functions start at the
// parenthesis.
var places = []struct {
	name    string
	content any
	want    string
}{
	{"string", "a\"*/", `readonly x: "a\"*/";`},
	{"long string", strings.Repeat("a", 201), `readonly x: string;`},
	{"numbers", []any{1, -2.5, 1e300}, `readonly x: readonly [1, -2.5, number];`},
	{"booleans and null", []any{true, nil}, `readonly x: readonly [true, null];`},
	{"nothing", map[string]any{}, `readonly x: {};`},
	{"empty list", []any{}, `readonly x: readonly [];`},
	{"long list", make([]int, 33), `readonly x: readonly number[];`},
	{"long mixed list", append(make([]any, 32), "a"), `readonly x: readonly (null | string)[];`},
	{"long list of anything", append(make([]any, 32), []any{}), `readonly x: readonly any[];`},
	{"list of calls", []any{verb("none", namespaces.Mapping{})}, `readonly x: readonly [(input?: { [key: string]: unknown }, options?: CallOptions | null) => Promise<unknown>];`},
	{"deep", map[string]any{"new": map[string]any{"a b": []any{map[string]any{"y": 1}}}},
		"readonly x: {\n      readonly \"new\": {\n        readonly \"a b\": readonly [{\n          readonly y: 1;\n        }];\n      };\n    };"},
	{"input", verb("edit", namespaces.Mapping{}), "x(input: {\n      /**\n       * Its number.\n       * Integer.\n       */\n      id: number;\n      title: string;\n      delete?: boolean;\n" +
		"      state?: \"open\" | \"closed\";\n      labels?: (string | null)[];\n    }, options?: CallOptions | null): Promise<"},
	{"fixed", verb("edit", namespaces.Mapping{Fixed: fixed{"id": json.RawMessage("1"), "labels": json.RawMessage("[]"), "delete": json.RawMessage("true")}}),
		"x(input: {\n      title: string;\n      state?: \"open\" | \"closed\";\n    }, options?: CallOptions | null): Promise<"},
	{"all that is required is fixed", verb("edit", namespaces.Mapping{Fixed: fixed{"id": json.RawMessage("1"), "title": json.RawMessage(`"a"`)}}), "x(input?: {\n      delete?: boolean;"},
	{"fixed by reference", verb("ref", namespaces.Mapping{Fixed: fixed{"a": json.RawMessage("1")}}), "x(input: {\n      b: string;\n      c?: Namespaces_N14_x_List;\n    }, options"},
	{"fixed in alternatives", verb("any", namespaces.Mapping{Fixed: fixed{"kind": json.RawMessage("1")}}), "x(input: {\n      a: string;\n    } | {\n      a: number;\n      only?: null;\n    }, options"},
	{"positional", verb("edit", positional("id", "title", "state")), `x(id: number, title: string, state?: "open" | "closed", options?: { signal: AbortSignal }): Promise<`},
	{"optional before required", verb("edit", positional("state", "id", "title", "delete")), `x(state: "open" | "closed", id: number, title: string, delete_?: boolean, options?: { signal: AbortSignal }): Promise<`},
	{"rest", verb("edit", namespaces.Mapping{Kind: namespaces.MapPositional, Positional: []string{"id"}, Rest: "labels"}), `x(id: number, ...labels: (string | null)[]): Promise<`},
	{"only a rest, of a plain type", verb("ref", namespaces.Mapping{Kind: namespaces.MapPositional, Rest: "c"}), `x(...c: number[]): Promise<`},
	{"positional by reference", verb("ref", positional("a", "b")), `x(a: number, b: string, options?`},
	{"positional in alternatives", verb("any", positional("a", "kind", "only")), `x(a: string | number, kind?: unknown, only?: unknown, options?`},
	{"positional without a schema", verb("none", namespaces.Mapping{Kind: namespaces.MapPositional, Positional: []string{"a"}, Rest: "b"}), `x(a?: unknown, ...b: unknown[]): Promise<unknown>`},
	{"parameters of odd names", verb("none", positional("this", "a-b", "a_b", "é", "_", "options", "1")),
		`x(this_?: unknown, a_b?: unknown, a_b2?: unknown, _?: unknown, _2?: unknown, options?: unknown, _1?: unknown, options2?: { signal: AbortSignal }): Promise<unknown>`},
	{"function of the plugin", verb("edit", namespaces.Mapping{Kind: namespaces.MapFunction, Mapper: "m"}), `x(...args: unknown[]): Promise<`},
	{"a tool without an input", verb("bare", namespaces.Mapping{}), `x(input?: { [key: string]: unknown }, options?: CallOptions | null): Promise<string>`},
}

var placeTools = finder(issueTool, catalog.Tool{Name: "bare", Output: json.RawMessage(`{"type":"string"}`)},
	catalog.Tool{Name: "ref", Parameters: json.RawMessage(`{"$ref":"#/$defs/in","$defs":{"in":{"type":"object","required":["a","b"],
		"properties":{"a":{"type":"integer"},"b":{"$ref":"#/$defs/s"},"c":{"$ref":"#/$defs/list"}},"additionalProperties":false},"s":{"type":"string"},"list":{"items":{"type":"number"}}}}`)},
	catalog.Tool{Name: "any", Parameters: json.RawMessage(`{"type":"object","anyOf":[{"properties":{"a":{"type":"string"},"kind":{"const":1}},"required":["a"]},
		{"properties":{"a":{"type":"number"},"only":{"type":"null"}},"required":["a"]}]}`)})

// TestPlaces: each kind of place has its type, and all of them compile together.
func TestPlaces(t *testing.T) {
	files := map[string]string{"guest.d.ts": hosttest.GuestDeclarations(t)}
	for i, tc := range places {
		text := string(declare.Namespace(registration(fmt.Sprint("N", i)), scopeOf(t, map[string]any{"x": tc.content}), placeTools))
		if resolved := strings.ReplaceAll(text, fmt.Sprintf("Namespaces_N%d_x_S", i), "string"); !strings.Contains(resolved, tc.want) {
			t.Errorf("%s: want %s in\n%s", tc.name, tc.want, text)
		}
		files[fmt.Sprintf("namespaces/N%d.d.ts", i)] = text
	}
	typescript.Check(t, files)
}

// TestNamespaceUse: programs that use a namespace as declared compile, and each
// mistake is an error.
func TestNamespaceUse(t *testing.T) {
	content := map[string]any{"statuses": []any{"a", "b"}, "desk": map[string]any{"name": "front"}, "verbs": []any{verb("bare", namespaces.Mapping{})},
		"edit": verb("edit", namespaces.Mapping{Fixed: fixed{"state": json.RawMessage(`"open"`)}}), "tag": verb("edit", namespaces.Mapping{Kind: namespaces.MapPositional, Positional: []string{"id", "title"}, Rest: "labels"}),
		"get": verb("edit", positional("id", "title", "state")), "map": verb("edit", namespaces.Mapping{Kind: namespaces.MapFunction, Mapper: "m"})}
	files := map[string]string{"guest.d.ts": hosttest.GuestDeclarations(t),
		"namespaces/Issues.d.ts": string(declare.Namespace(registration("Issues"), scopeOf(t, content), placeTools)),
		"namespaces/Другие.d.ts": string(declare.Namespace(registration("Другие"), scopeOf(t, content), placeTools)),
		"namespaces/Tools.d.ts":  string(declare.Namespace(registration("Tools"), scopeOf(t, content), placeTools)),
		"namespaces/type.d.ts":   string(declare.Namespace(registration("type"), scopeOf(t, content), placeTools)),
		"namespaces/Gone.d.ts":   string(declare.Unavailable("Namespace Gone is unavailable: */\ndeclare const evil: 1;"))}
	typescript.Check(t, merge(files, map[string]string{"use.ts": `
const { signal } = new AbortController();
const made = await Issues.edit({ id: 1, title: "a", labels: ["x", null] }, { signal });
const id: number | undefined = made.parent?.id;
await Issues.get(1, "a", undefined, { signal }); await Issues.get(1, "a", "open");
await Issues.tag(1, "a", "l", "m"); await Issues.map("any", 3, { signal });
const word: string = await Issues.verbs[0]({}, null);
const first: "a" = Issues.statuses[0]; const all: string[] = Issues.statuses.map((s) => s + Issues.desk.name);
await namespaces.Issues.get(1, "b"); await Другие.edit({ id: 1, title: "a" }); await Tools.get(2, "c"); await type.get(3, "d"); await namespaces.Other.what();
export { id, word, first, all };`}))
	for _, bad := range []string{
		`Issues.get("1", "a")`, `Issues.get(1)`, `Issues.get(1, "a", "ajar")`, `Issues.get(1, "a", "open", {})`, `Issues.edit()`, `Issues.edit({ id: 1 })`,
		`Issues.edit({ id: 1, title: "a", state: "open" })`, `Issues.tag(1, "a", 5)`, `Issues.statuses.push("c")`, `Issues.desk.name = "x"`, `Issues.nope()`,
		`Issues = 1`, `Issues.edit({ id: 1, title: "a" }, { signal: 1 })`, `(await Issues.get(1, "a")).title`, `namespaces.Issues.get("1", "a")`, `evil`, `Gone`,
	} {
		if said := typescript.Complaints(t, merge(files, map[string]string{"use.ts": bad + "; export {};"})); !strings.Contains(said, "use.ts") {
			t.Errorf("%s is accepted: %s", bad, said)
		}
	}
}

// TestHostileNamespaces: whatever a plugin says and puts into a scope, the files
// compile together and are bounded.
func TestHostileNamespaces(t *testing.T) {
	evil := "*/ } declare const evil: 1; /*\r\n*/\u2028declare const evil2: 1;\u2029\x00\x1b[31m\u202e"
	tools := finder(
		catalog.Tool{Name: "evil", Description: evil, Label: evil, Output: json.RawMessage(`"x"`),
			Parameters: must(json.Marshal(map[string]any{"required": []string{evil}, "properties": map[string]any{evil: map[string]any{"description": evil}}}))},
		catalog.Tool{Name: "large", Parameters: json.RawMessage(`{"properties":{"a":{"description":"` + strings.Repeat("word ", 2000) + `"}},"$comment":"` + strings.Repeat("c", 500<<10) + `"}`)},
		catalog.Tool{Name: "loop", Parameters: json.RawMessage(`{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"$ref":"#"},`, 50), ",") + `]}`), Output: json.RawMessage(`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`)},
		catalog.Tool{Name: "out", Parameters: json.RawMessage(`{"anyOf":[{"properties":{"a":{"type":"object","properties":{"b":{}}}}},{"$ref":"#"}]}`),
			Output: must(json.Marshal(map[string]any{"properties": map[string]any{evil: map[string]any{"type": "string"}, "list": map[string]any{"type": []string{"array", "object", "null"}, "items": map[string]any{"$ref": "#"}}}}))},
		catalog.Tool{Name: "nullish", Parameters: json.RawMessage(`false`), Output: json.RawMessage(`{"anyOf":[{"type":"null"},{"type":"object","properties":{"list":{"enum":[1,null]}}},{"type":"array","items":{"type":["null","object"]}}]}`)},
	)
	crowd, data := map[string]any{}, map[string]any{strings.Repeat("k", 1<<20): 1}
	for i := range 9_000 {
		crowd[fmt.Sprint("c", i)] = verb("large", namespaces.Mapping{})
		data[fmt.Sprint("d", i)] = map[string]any{evil: strings.Repeat("é", 50)}
	}
	methods := map[string]any{}
	for i, tool := range []string{"evil", "large", "loop", "out", "nullish"} {
		class := &namespaces.Class{Name: fmt.Sprint("Output", i), Key: evil, Methods: map[string]namespaces.Call{}}
		for _, name := range []string{"new", "constructors", "класс", "a"} {
			m := namespaces.Call{Tool: tool, Returns: class, Mapping: namespaces.Mapping{Kind: namespaces.MapPositional, Positional: []string{evil}, Options: true}}
			class.Methods[name] = m
			m.ReturnsIn = evil
			methods[tool+name] = m
			m.ReturnsIn, m.Mapping.Positional = "list", []string{"a", "b"}
			methods[name+tool] = m
		}
		methods["tag"+tool] = namespaces.Call{Tool: tool, Returns: class, Template: true, Mapping: namespaces.Mapping{Kind: namespaces.MapFunction, Mapper: "m"}}
	}
	deep, wide := any(verb("evil", namespaces.Mapping{})), []any{}
	for range 60 {
		deep = map[string]any{"d": deep}
	}
	for range 20_000 {
		wide = append(wide, []any{1})
	}
	scopes := map[string]any{
		"evil": map[string]any{evil: map[string]any{evil: evil}, "call" + evil: verb("evil", namespaces.Mapping{}), "by": verb("evil", positional(evil, "a")),
			"fixed": verb("evil", namespaces.Mapping{Fixed: fixed{evil: json.RawMessage("1")}}), "then": 1, "toString": 2, "get": verb("evil", namespaces.Mapping{}), "new": verb("evil", namespaces.Mapping{})},
		"loop":    map[string]any{"in": verb("loop", namespaces.Mapping{}), "fixed": verb("loop", namespaces.Mapping{Fixed: fixed{"a": json.RawMessage("1")}}), "by": verb("loop", positional("a", "b", "c"))},
		"methods": methods,
		"crowd":   crowd, "data": data, "deep": map[string]any{"d": deep}, "wide": map[string]any{"w": wide, "z": []any{wide[:32], wide[:32]}},
	}
	files := map[string]string{"guest.d.ts": hosttest.GuestDeclarations(t), "namespaces/gone.d.ts": string(declare.Unavailable(evil))}
	for name, content := range scopes {
		reg := registration("$" + name)
		reg.Description, reg.Prompt = evil, evil
		files["namespaces/$"+name+".d.ts"] = string(declare.Namespace(reg, scopeOf(t, content), tools))
	}
	typescript.Check(t, files)
	for name, text := range files {
		if len(text) > declare.MaxBytes || !utf8.ValidString(text) || strings.ContainsAny(text, "\r\u2028\u2029\x00\x1b\u202e") {
			t.Errorf("%s has %d bytes, or lets text out of its comment", name, len(text))
		}
	}
	if said := typescript.Complaints(t, merge(files, map[string]string{"see.ts": "evil; evil2; $crowd.c8999({}); $data.d8999; export {};"})); strings.Count(said, "Cannot find name") != 2 || strings.Count(said, "error") != 2 {
		t.Errorf("what stands in a comment is declared, or what is left out is not any: %s", said)
	}
}
