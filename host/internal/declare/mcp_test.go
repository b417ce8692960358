package declare_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/declare"
	"github.com/quoinhq/quoin/internal/typescript"
)

func method(name, schema string) declare.Method {
	return declare.Method{Name: name, Tool: &catalog.Tool{Name: name, Owner: "s", Source: catalog.SourceMCP, Parameters: json.RawMessage(schema)}}
}

// TestMCPUse: programs that use a server as declared compile, and others do not.
func TestMCPUse(t *testing.T) {
	create := method("createIssue", `{"type":"object","properties":{"title":{"type":"string"},"body":{"type":"string"}},"required":["title"],"additionalProperties":false}`)
	create.Tool.Output = json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`)
	tree := method("tree", `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}}}`)
	methods := []declare.Method{
		create, method("anything", ""), tree,
		{Group: "prompts", Name: "get", Tool: &catalog.Tool{Name: "prompts_get"}},
		{Group: "resources", Name: "list", Tool: &catalog.Tool{Name: "resources_list"}},
		{Group: "resources", Name: "read", Tool: &catalog.Tool{Name: "resources_read"}},
	}
	files := map[string]string{
		"guest.d.ts":      guest + "declare const MCP: MCPServers;",
		"mcp/a.d.ts":      string(declare.MCP("a", "A", methods)),
		"mcp/b.d.ts":      string(declare.MCP("b", "B", methods)),
		"mcp/index.d.ts":  string(declare.MCPIndex([]string{"MCP.a: */", "MCP.b"})),
		"tools/some.d.ts": string(declare.Tool(create.Tool, "createIssue")),
	}
	good := `declare const signal: AbortSignal;
	export async function use() {
		await MCP.a.createIssue({ title: "x" }, { signal }); await MCP.b.anything(undefined, { signal });
		await MCP.a.resources.list({}, { signal }); await MCP.a.resources.read({ uri: "x" }, { signal });
		await MCP.b.prompts.get({ name: "x" }, { signal });
		const made = await MCP.a.createIssue({ title: "x" });
		const id: number | undefined = made.structuredContent?.id;
		const text: string | undefined = made.content?.[0]?.text;
		const failed: boolean | undefined = made.isError;
		await MCP.b.anything(); await MCP.b.anything({ any: 1 }); await MCP.a.tree({ next: { next: {} } });
		const [first] = (await MCP.a.resources.list()).resources;
		const read = await MCP.a.resources.read({ uri: first!.uri });
		const said = (await MCP.b.prompts.get({ name: "x", arguments: { a: "b" } })).messages[0]!.content.text;
		const api = await MCP.a.$api("createIssue", { schema: true });
		return [id, text, failed, read.contents[0]!.text, said, api.schemas?.["createIssue"]?.input, MCP.a.$serverName];
	}`
	typescript.Check(t, merge(files, map[string]string{"use.ts": good}))
	for _, bad := range []string{
		`MCP.a.createIssue()`, `MCP.a.createIssue({})`, `MCP.a.createIssue({ title: 1 })`, `MCP.a.createIssue({ title: "x" }, 2)`, `MCP.a.createIssue({ title: "x" }, { other: 1 })`,
		`MCP.a.nope()`, `MCP.c.createIssue`, `MCP.a.resources.read()`, `MCP.a.$serverName = "x"`,
	} {
		if said := typescript.Complaints(t, merge(files, map[string]string{"use.ts": bad + "; export {};"})); !strings.Contains(said, "use.ts") {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// TestMCPOfHostileServers: whatever a server says, the file compiles and is bounded.
func TestMCPOfHostileServers(t *testing.T) {
	evil := "*/ } declare const evil: 1; /*\r\n*/\u2028declare const evil2: 1;\u2029\x00\x1b[31m\u202e"
	odd := method("odd", `{"properties":5,"required":{"a":1}}`)
	odd.Tool.Name, odd.Tool.Label, odd.Tool.Description, odd.Tool.Output = evil, evil, evil, json.RawMessage(`"x"`)
	files := map[string]string{"guest.d.ts": guest, "mcp/odd.d.ts": string(declare.MCP("odd", evil, []declare.Method{odd}))}
	var random, crowd []declare.Method
	for seed := range uint64(100) {
		g := &schemas{rand.New(rand.NewPCG(seed, 2))}
		m := method(fmt.Sprintf("r%d", seed), string(g.root()))
		m.Tool.Output = g.root()
		random = append(random, m)
	}
	for i := range 10_000 {
		crowd = append(crowd, method(fmt.Sprintf("c%d", i), `{"type":"object","properties":{"a":{"type":"string","description":"`+strings.Repeat("word ", 20)+`"}}}`))
	}
	crowd = append(crowd, declare.Method{Group: "resources", Name: "list", Tool: &catalog.Tool{Name: "resources_list"}})
	files["mcp/random.d.ts"] = string(declare.MCP("random", "r", random))
	files["mcp/crowd.d.ts"] = string(declare.MCP("crowd", "c", crowd))
	typescript.Check(t, files)
	for name, text := range files {
		if len(text) > declare.MaxBytes || strings.Contains(text, "*/ }") || strings.ContainsAny(text, "\r\u2028\u2029\x00\x1b\u202e") {
			t.Errorf("%s has %d bytes, or lets text out of its comment", name, len(text))
		}
	}
	if !strings.Contains(files["mcp/crowd.d.ts"], "MCP.crowd.$api(name)") {
		t.Error("the file of a crowd does not say where the rest is")
	}
}
