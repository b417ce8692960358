package declare_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/declare"
	"github.com/quoinhq/quoin/internal/typescript"
)

// guest stands for the declarations that the guest itself brings.
const guest = `interface Tools {
  search(query: string, options?: { limit?: number }): Promise<unknown[]>;
  call(id: string, input?: unknown, options?: CallOptions | null): Promise<unknown>;
}
declare const tools: Tools;
interface AbortSignal { readonly aborted: boolean; }
interface CallOptions { readonly signal?: AbortSignal | null; }
`

func TestTool(t *testing.T) {
	tool := &catalog.Tool{
		Name: "list_issues", Label: "List issues", Owner: "issues", Source: catalog.SourceQuoin, ReadOnly: true,
		Description: "Lists issues of a repository.\n\nNewest first.",
		Parameters: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["repo"],"properties":{
			"repo":{"type":"string","description":"owner/name","pattern":"^.+/.+$"},
			"state":{"enum":["open","closed"],"default":"open"},
			"limit":{"type":"integer","minimum":1,"maximum":100},
			"new":{"type":["string","null"]},
			"x-y":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]}}}}`),
		Output: json.RawMessage(`{"type":"object","required":["items"],"properties":{"items":{"type":"array","items":{"$ref":"#/$defs/Issue"}}},
			"$defs":{"Issue":{"description":"One issue.","type":"object","required":["number"],"properties":{"number":{"type":"integer"},"parent":{"$ref":"#/$defs/Issue"}}}}}`),
		Examples: []catalog.Example{{Description: "Open ones", Input: json.RawMessage(`{"repo": "a/b"}`), Output: json.RawMessage(`{"items": []}`)}},
	}
	got := string(declare.Tool(tool, "list_issues"))
	want := `interface Tools {
  /**
   * List issues
   *
   * Lists issues of a repository.
   *
   * Newest first.
   *
   * Id: quoin:issues:list_issues. Changes nothing.
   * @example Open ones
   * await tools.list_issues({"repo":"a/b"})
   * // {"items":[]}
   */
  list_issues(input: {
    /**
     * owner/name
     * Pattern: ^.+/.+$.
     */
    repo: string;
    /** Default: "open". */
    state?: "open" | "closed";
    /** Integer. Range: 1 to 100. */
    limit?: number;
    "new"?: string | null;
    "x-y"?: (string | number)[];
  }, options?: { signal?: AbortSignal | null } | null): Promise<{
    items: list_issues_Issue[];
  }>;
}

/** One issue. */
type list_issues_Issue = {
  /** Integer. */
  number: number;
  parent?: list_issues_Issue;
};
interface AbortSignal {}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	typescript.Check(t, map[string]string{"guest.d.ts": guest, "tools/list_issues.d.ts": got, "use.ts": `
declare const signal: AbortSignal; void tools.list_issues({ repo: "a/b" }, { signal });
const { items } = await tools.list_issues({ repo: "a/b", state: "open", "x-y": ["a", 1] });
const n: number | undefined = items[0]?.parent?.parent?.number;
export { n };`})
	complaints := typescript.Complaints(t, map[string]string{"guest.d.ts": guest, "tools/list_issues.d.ts": got, "use.ts": `
await tools.list_issues({});
await tools.list_issues({ repo: "a/b", state: "opened" });
export {};`})
	if strings.Count(complaints, "error") != 2 {
		t.Errorf("two wrong calls, and the compiler says %s", complaints)
	}
}

// TestToolWithoutFunction: it is called by its id, with its own types.
func TestToolWithoutFunction(t *testing.T) {
	tool := &catalog.Tool{Name: "list", Owner: "a", Source: catalog.SourceQuoin,
		Parameters: json.RawMessage(`{"properties":{"n":{"type":"number"}},"required":["n"]}`), Output: json.RawMessage(`{"const":"a"}`)}
	other := &catalog.Tool{Name: "list", Owner: "b", Source: catalog.SourceQuoin, Output: json.RawMessage(`{"const":"b"}`)}
	typescript.Check(t, map[string]string{
		"guest.d.ts": guest, "tools/a.d.ts": string(declare.Tool(tool, "")), "tools/b.d.ts": string(declare.Tool(other, "")), "use.ts": `
const a: "a" = await tools.call("quoin:a:list", { n: 1 });
const b: "b" = await tools.call("quoin:b:list");
const c: unknown = await tools.call("quoin:c:list", 5);
export { a, b, c };`})
}

// shapes are schemas and the types they should be.
var shapes = []struct{ name, schema, want string }{
	{"nothing", ``, `unknown`},
	{"not JSON", `{"type":`, `unknown`},
	{"not a schema", `[1]`, `unknown`},
	{"true", `true`, `unknown`},
	{"false", `false`, `never`},
	{"string", `{"type":"string"}`, `string`},
	{"number", `{"type":"number"}`, `number`},
	{"integer", `{"type":"integer"}`, `number`},
	{"boolean", `{"type":"boolean"}`, `boolean`},
	{"null", `{"type":"null"}`, `null`},
	{"no such type", `{"type":"strnig"}`, `unknown`},
	{"type list", `{"type":["string","null","integer","number"]}`, `string | null | number`},
	{"nullable", `{"type":"string","nullable":true}`, `string | null`},
	{"enum", `{"type":"string","enum":["a","b\"c",1,-2.5,true,null]}`, `"a" | "b\"c" | 1 | -2.5 | true | null`},
	{"enum of structures", `{"enum":[{"a":1,"b-c":[2]},[]]}`, `{ a: 1; "b-c": [2] } | []`},
	{"enum of large numbers", `{"enum":[1e400,123456789012345678901]}`, `number`},
	{"empty enum", `{"enum":[]}`, `never`},
	{"const", `{"const":"x"}`, `"x"`},
	{"object", `{"type":"object"}`, "{\n  [key: string]: unknown;\n}"},
	{"closed object", `{"type":"object","additionalProperties":false}`, "{\n  [key: string]: never;\n}"},
	{"map", `{"type":"object","additionalProperties":{"type":"number"}}`, "{\n  [key: string]: number;\n}"},
	{"object with others", `{"properties":{"a":{"type":"string"}},"additionalProperties":{"type":"number"}}`, "{\n  a?: string;\n  [key: string]: unknown;\n}"},
	{"required without a property", `{"type":"object","required":["a"]}`, "{\n  a: unknown;\n}"},
	{"a key twice", `{"properties":{"a":{"type":"string"},"a":{"type":"number"}}}`, "{\n  a?: number;\n}"},
	{"odd keys", `{"properties":{"":{},"a b":{},"new":{},"__proto__":{},"é":{},"1":{},"delete":{}}}`,
		"{\n  \"\"?: unknown;\n  \"a b\"?: unknown;\n  \"new\"?: unknown;\n  __proto__?: unknown;\n  \"é\"?: unknown;\n  \"1\"?: unknown;\n  delete?: unknown;\n}"},
	{"array", `{"type":"array","items":{"type":"string"}}`, `string[]`},
	{"array of anything", `{"type":"array"}`, `unknown[]`},
	{"array of unions", `{"items":{"type":["string","null"]}}`, `(string | null)[]`},
	{"tuple", `{"type":"array","prefixItems":[{"type":"string"},{"type":["number","null"]}],"minItems":1,"items":false}`, `[string, (number | null)?]`},
	{"tuple with a rest", `{"type":"array","prefixItems":[{"type":"string"}],"minItems":1,"items":{"type":"number"}}`, `[string, ...number[]]`},
	{"tuple of old", `{"items":[{"type":"string"}],"additionalItems":false,"minItems":3}`, `[string]`},
	{"anyOf", `{"anyOf":[{"type":"string"},{"type":"number"},{"type":"string"}]}`, `string | number`},
	{"oneOf with anything", `{"oneOf":[{"type":"string"},{}]}`, `unknown`},
	{"allOf", `{"allOf":[{"properties":{"a":{"type":"string"}}},{"anyOf":[{"properties":{"b":{"type":"number"}}},{"type":"null"}]}]}`,
		"{\n  a?: string;\n} & ({\n  b?: number;\n} | null)"},
	{"type with anyOf", `{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`, "{\n  a: unknown;\n} | {\n  b: unknown;\n}"},
	{"reference", `{"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":{"type":"string"}}}`, `T_A_b_c`},
	{"anchor", `{"$ref":"#x","$defs":{"q":{"$anchor":"x","type":"string"}}}`, `T_X`},
	{"id", `{"$id":"https://x.test/s","$ref":"https://x.test/s#/$defs/q","$defs":{"q":{"type":"string"}}}`, `T_Q`},
	{"reference elsewhere", `{"$ref":"https://x.test/other"}`, `unknown`},
	{"reference to nothing", `{"$ref":"#/$defs/none"}`, `unknown`},
	{"reference to false", `{"$ref":"#/$defs/no","$defs":{"no":false}}`, `never`},
	{"recursive whole", `{"properties":{"next":{"$ref":"#"}}}`, `T_Whole`},
	{"reserved definition names", `{"anyOf":[{"$ref":"#/$defs/string"},{"$ref":"#/$defs/delete"},{"$ref":"#/$defs/0"}],"$defs":{"string":{"type":"string"},"delete":{"type":"null"},"0":{"type":"number"}}}`,
		`T_String | T_Delete | T_0`},
	{"an alias of itself", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`, `T_A`},
	{"a union with itself", `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/a"}]}}}`, `T_A`},
	{"aliases in a circle", `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/b"}]},"b":{"allOf":[{"$ref":"#/$defs/c"}]},"c":{"$ref":"#/$defs/a"}}}`, `T_A`},
	{"a list of itself", `{"$ref":"#/$defs/a","$defs":{"a":{"type":["array","string"],"items":{"$ref":"#/$defs/a"}}}}`, `T_A`},
	{"a tuple of itself", `{"$ref":"#/$defs/a","$defs":{"a":{"prefixItems":[{"$ref":"#/$defs/a"}],"items":{"$ref":"#/$defs/b"}},"b":{"additionalProperties":{"$ref":"#/$defs/a"}}}}`, `T_A`},
	{"the whole is one of itself", `{"anyOf":[{"type":"string"},{"$ref":"#"}]}`, `T_Whole`},
	{"JSON as a schema", `{"$ref":"#/$defs/json","$defs":{"json":{"anyOf":[{"type":["string","number","boolean","null"]},{"items":{"$ref":"#/$defs/json"}},{"additionalProperties":{"$ref":"#/$defs/json"}}]}}}`, `T_Json`},
	{"comments that would end", `{"properties":{"a":{"type":"string","description":"*/ } declare const x: number; /* \u2028*/","default":"*/","pattern":"*/","enum":["*/"]}}}`,
		"{\n  /**\n   * *\\/ } declare const x: number; /*  *\\/\n   * Pattern: *\\/. Default: \"*\\/\".\n   */\n  a?: \"*/\";\n}"},
	{"one name for two", `{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/definitions/a"}],"$defs":{"a":{"type":"string"}},"definitions":{"a":{"type":"null"}}}`, `T_A | T_A2`},
}

func TestShapes(t *testing.T) {
	files := map[string]string{}
	for i, tc := range shapes {
		types := declare.NewTypes("T")
		got := types.Expression(json.RawMessage(tc.schema), "Whole", 0)
		if got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
		files[fmt.Sprintf("%02d.ts", i)] = "export declare const value: " + got + ";\n" + types.Declarations()
	}
	typescript.Check(t, files)
}

// TestHostileSchemas: bounds hold, and what is written within them compiles.
func TestHostileSchemas(t *testing.T) {
	repeat := func(n int, one func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = one(i)
		}
		return strings.Join(parts, ",")
	}
	same := func(s string) func(int) string { return func(int) string { return s } }
	letters := repeat(60, func(i int) string { return fmt.Sprintf(`{"const":"%d"}`, i) })
	files := map[string]string{}
	for name, schema := range map[string]string{
		"deep objects":      strings.Repeat(`{"properties":{"a":`, 90) + `{}` + strings.Repeat(`}}`, 90),
		"deep arrays":       strings.Repeat(`{"items":`, 90) + `{"type":"string"}` + strings.Repeat(`}`, 90),
		"deeper than read":  strings.Repeat(`{"not":`, 5000) + `{}` + strings.Repeat(`}`, 5000),
		"many properties":   `{"properties":{` + repeat(5000, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string","description":"d"}`, i) }) + `}}`,
		"many definitions":  `{"anyOf":[` + repeat(90, func(i int) string { return fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i) }) + `],"$defs":{` + repeat(90, func(i int) string { return fmt.Sprintf(`"d%d":{"description":"%s"}`, i, strings.Repeat(`x\n`, 500)) }) + `}}`,
		"wide union":        `{"anyOf":[` + repeat(3000, func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `]}`,
		"long enum":         `{"enum":[` + repeat(10000, func(i int) string { return fmt.Sprintf(`"%d"`, i) }) + `]}`,
		"product of unions": `{"allOf":[` + repeat(8, same(`{"anyOf":[`+letters+`]}`)) + `]}`,
		"product by name":   `{"allOf":[` + repeat(8, same(`{"$ref":"#/$defs/l"}`)) + `],"$defs":{"l":{"oneOf":[` + letters + `]}}}`,
		"squares of squares": `{"$ref":"#/$defs/s9","$defs":{"s0":{"anyOf":[` + letters + `]},` + repeat(9, func(i int) string {
			return fmt.Sprintf(`"s%d":{"allOf":[{"$ref":"#/$defs/s%d"},{"$ref":"#/$defs/s%d"}]}`, i+1, i, i)
		}) + `}}`,
		"all of it, often": `{"allOf":[` + repeat(50, same(`{"$ref":"#"}`)) + `]}`,
		"everything to everything": `{"$ref":"#/$defs/d0","$defs":{` + repeat(40, func(i int) string {
			return fmt.Sprintf(`"d%d":{"anyOf":[%s]}`, i, repeat(40, func(j int) string { return fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, j) }))
		}) + `}}`,
		"long words":  `{"properties":{"` + strings.Repeat("k", 60000) + `":{"const":"` + strings.Repeat("v", 60000) + `"}},"description":"` + strings.Repeat("d", 60000) + `"}`,
		"too large":   `{"description":"` + strings.Repeat("d", 600<<10) + `"}`,
		"odd values":  `{"properties":5,"required":{"a":1},"items":"x","anyOf":{},"allOf":3,"enum":"no","type":{"a":1},"$ref":7,"minItems":-1,"additionalProperties":"x"}`,
		"a bad tuple": `{"prefixItems":[5,null,"x",{"prefixItems":[false]}],"minItems":1e9}`,
	} {
		tool := &catalog.Tool{Name: "t", Owner: "o", Source: catalog.SourceQuoin, Parameters: json.RawMessage(schema), Output: json.RawMessage(schema)}
		text := declare.Tool(tool, declare.Identifier(name))
		if len(text) > declare.MaxBytes {
			t.Errorf("%s: %d bytes, at most %d are allowed", name, len(text), declare.MaxBytes)
		}
		files["tools/"+declare.Identifier(name)+".d.ts"] = string(text)
	}
	typescript.Check(t, files)
}

// TestHostileTexts: nothing that a tool says of itself leaves its comment.
func TestHostileTexts(t *testing.T) {
	evil := "*/ } declare const evil: 1; /*\r\n*/\u2028declare const evil2: 1;\u2029\x00\x1b[31m\u202e @ts-nocheck\n/// <reference path=\"x\" />"
	tool := &catalog.Tool{Name: evil, Label: evil, Owner: "o*/", Source: catalog.SourceQuoin, Description: evil,
		Parameters: json.RawMessage(`{"title":` + string(must(json.Marshal(evil))) + `}`),
		Examples:   []catalog.Example{{Description: evil, Input: must(json.Marshal(map[string]string{evil: evil})), Output: must(json.Marshal(evil))}}}
	files := map[string]string{
		"guest.d.ts":       guest,
		"tools/evil.d.ts":  string(declare.Tool(tool, "évil_名")),
		"tools/byid.d.ts":  string(declare.Tool(tool, "")),
		"tools/new.d.ts":   string(declare.Tool(tool, "new")),
		"tools/index.d.ts": string(declare.Index([]declare.Named{{Tool: tool, Function: "a", Path: evil}, {Tool: tool, Path: "b"}})),
		"use.ts":           "tools.new(); tools[\"évil_名\"](); export {};",
	}
	typescript.Check(t, files)
	for name, text := range files {
		// An id is also a literal, and there the end of a comment ends nothing.
		if strings.Contains(text, "*/ }") && name != "tools/byid.d.ts" || strings.ContainsAny(text, "\r\u2028\u2029\x00\x1b\u202e") {
			t.Errorf("%s lets text out of its comment:\n%q", name, text)
		}
	}
	if said := typescript.Complaints(t, merge(files, map[string]string{"see.ts": "evil; evil2; export {};"})); strings.Count(said, "TS2304") != 2 {
		t.Errorf("what stands in a comment is declared: %s", said)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func merge(a, b map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range []map[string]string{a, b} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

func TestIndexIsBounded(t *testing.T) {
	var tools []declare.Named
	for i := range 10_000 {
		name := fmt.Sprintf("tool_%d", i)
		tools = append(tools, declare.Named{Tool: &catalog.Tool{Name: name, Description: "Does something.\nAnd more."}, Function: name, Path: "tools/" + name + ".d.ts"})
	}
	text := string(declare.Index(tools))
	if len(text) > 200<<10 || !strings.Contains(text, "more: see await API.list") || strings.Contains(text, "And more") {
		t.Errorf("index of %d bytes starts %.300s", len(text), text)
	}
	if !strings.Contains(text, "// tools/tool_0.d.ts  tools.tool_0  Does something.\n") {
		t.Errorf("index starts %.300s", text)
	}
}
