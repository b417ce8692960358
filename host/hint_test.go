package host_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/namespaces"
)

// TestHints: an unknown name fails with the expression as written, the
// nearest names there are, and how to list them. The guest finds it in the error.
func TestHints(t *testing.T) {
	t.Parallel()
	twin := owned("same name", "other")
	h := start(t, host.Config{
		Tools:      []catalog.Tool{echo("list_issues"), echo("list-labels"), owned("notes_get", "notes"), echo("same.name"), twin, echo("secret_tool")},
		Namespaces: []namespaces.Registration{notes("notes_get")},
		MCP:        host.MCPConfig{Servers: []mcp.Server{program(t, "hub"), {Name: "gone", Command: "/nonexistent/quoin-test-server"}, {Name: "denied", Command: "/nonexistent/x"}}},
		Rules:      policy.Scopes{Rules: policy.Rules{Deny: []string{"secret_tool", "mcp:denied:*"}}},
	})
	const (
		call      = "TypeError: not a function: "
		listTools = `Object.keys(tools) lists the names; await tools.search("words") finds tools by what they do.`
		listNotes = `Object.keys(Notes) lists what is there; await API.read("namespaces/Notes.d.ts") describes it.`
		listHub   = `await MCP.hub.$api() lists the functions.`
	)
	for _, tc := range []struct{ code, want string }{
		{`tools.list_isues({})`, call + "tools.list_isues does not exist. Did you mean tools.list_issues? " + listTools},
		{`tools["list labels"]()`, call + `tools["list labels"] does not exist. Did you mean tools.list_labels? ` + listTools},
		{`tools.zzzzzz()`, call + "tools.zzzzzz does not exist. " + listTools},
		{`tools.secret_tool()`, call + "tools.secret_tool does not exist. " + listTools},
		{`tools.same_name()`, call + `tools.same_name is no function, because several tools have the name. Call one by its id: tools.call("quoin:core:same.name", input) or tools.call("quoin:other:same name", input).`},
		{`tools.delete()`, call + "tools.delete does not exist. Did you mean MCP.hub.delete2? " + listTools},
		{`tools.notes()`, call + "tools.notes does not exist. Did you mean Notes, tools.notes_get? " + listTools},
		{`tools.call("mcp:hub:create-issue", {})`, "Error: MCP tool mcp:hub:create-issue is not reached through tools; call it as MCP.hub.createIssue(input)."},
		{`Notes.notes_get()`, call + "Notes.notes_get does not exist. Did you mean Notes.get, Notes.deep.pick? " + listNotes},
		{`functions.list_issues({})`, "ReferenceError: 'functions' is not defined: Did you mean tools?"},
		{`print("x")`, "ReferenceError: 'print' is not defined: Did you mean text, console.log?"},
		{`((page) => page.issues.length)({items: []})`, "TypeError: cannot read property 'length' of undefined: page.issues is undefined. " +
			"Object.keys(value) lists the fields of a value. A call without await is a Promise, which has no field of the result."},
		{`((page) => page.map(String))({items: []})`, call + "map is a method of lists, and this value is no list. " +
			"Object.keys(value) lists the fields of a value. A call without await is a Promise, which has no field of the result."},
		{`tools.seach("x")`, call + "tools.seach does not exist. " + listTools},
		{`tools.a.b()`, "TypeError: cannot read property 'b' of undefined: tools.a does not exist. " + listTools},
		{`Notes.who && Notes.gett()`, call + "Notes.gett does not exist. Did you mean Notes.get? " + listNotes},
		{`namespaces.Notes.gett()`, call + "namespaces.Notes.gett does not exist. Did you mean namespaces.Notes.get? Object.keys(namespaces.Notes) lists what is there; await API.read(\"namespaces/Notes.d.ts\") describes it."},
		{`Notes.dep.pick(1)`, "TypeError: cannot read property 'pick' of undefined: Notes.dep does not exist. Did you mean Notes.deep? " + listNotes},
		{`Notes.deep.pik(1)`, call + "Notes.deep.pik does not exist. Did you mean Notes.deep.pick? Object.keys(Notes.deep) lists what is there; await API.read(\"namespaces/Notes.d.ts\") describes it."},
		{`Notes.deep()`, call + "Notes.deep is an object, not a function. Object.keys(Notes.deep) lists what is there; await API.read(\"namespaces/Notes.d.ts\") describes it."},
		{`Notes.who()`, call + "Notes.who is a value, not a function. " + listNotes},
		{`Notes.get.items.length`, "TypeError: cannot read property 'length' of undefined: Notes.get is a function: call it, and await what it returns, before using items."},
		{`namespaces.Nots.get()`, "TypeError: cannot read property 'get' of undefined: namespaces.Nots does not exist. Did you mean Notes? Object.keys(namespaces) lists the namespaces."},
		{`Nots.get()`, "ReferenceError: 'Nots' is not defined: Did you mean Notes?"},
		{`tool.search("x")`, "ReferenceError: 'tool' is not defined: Did you mean tools, ALL_TOOLS?"},
		{`list_issues({})`, "ReferenceError: 'list_issues' is not defined: Did you mean tools.list_issues?"},
		{`hub.delete2({})`, "ReferenceError: 'hub' is not defined: Did you mean MCP.hub?"},
		{`process.exit(1)`, "ReferenceError: 'process' is not defined: programs have no modules, files, environment or network of their own; tools reach the outside. await tools.search(\"words\") finds them."},
		{`whatever_else()`, "ReferenceError: 'whatever_else' is not defined"},
		{`MCP.hub.create_isue({})`, call + "MCP.hub.create_isue does not exist. Did you mean MCP.hub.createIssue, MCP.hub.createIssue2? " + listHub},
		{`MCP.hub.Refuse({})`, call + "MCP.hub.Refuse does not exist. Did you mean MCP.hub.refuse? " + listHub},
		{`MCP.hub.resources.lst()`, call + "MCP.hub.resources.lst does not exist. Did you mean MCP.hub.resources.list, MCP.hub.resources.read? " + listHub},
		{`MCP.hub({})`, call + "MCP.hub is a server, not a function. " + listHub},
		{`MCP.hubb.fail({})`, "TypeError: cannot read property 'fail' of undefined: MCP.hubb does not exist. Did you mean MCP.hub? Object.keys(MCP) lists the servers."},
		{`MCP.denied.fail({})`, "TypeError: cannot read property 'fail' of undefined: MCP.denied does not exist. Object.keys(MCP) lists the servers."},
		{`results.get("a")`, call + "results.get does not exist. results has delete, load, save."},
		{`API.lst()`, call + "API.lst does not exist. Did you mean API.list? API has list, read."},
		{`performance.mark("x")`, call + "performance.mark does not exist. performance has now, timeOrigin."},
		{`API.read("mcp/hubb.d.ts")`, "Error: Unknown API file: mcp/hubb.d.ts. Did you mean \"mcp/hub.d.ts\"? API.list() names every file."},
		{`API.read("namespaces/notes.d.ts")`, "Error: Unknown API file: namespaces/notes.d.ts. Did you mean \"namespaces/Notes.d.ts\"? API.list() names every file."},
		{`API.read("x")`, "Error: Unknown API file: x. API.list() names every file."},
	} {
		for _, language := range []string{"javascript", "typescript"} {
			code := "const n: number = 1;\nreturn await (" + tc.code + ") as any"
			if language == "javascript" {
				code = "return await (" + tc.code + ")"
			}
			r := h.Exec(t.Context(), host.Session{SessionID: "session"}, host.ExecInput{Code: code, Language: language})
			if r.Error != tc.want && !strings.HasPrefix(r.Error, tc.want+"\n") {
				t.Errorf("%s: %s\n got %s\nwant %s", language, tc.code, r.Error, tc.want)
			}
			caught := exec(h, "try { await ("+tc.code+") } catch (e) { return e.name + ': ' + e.message }")
			var text string
			if err := json.Unmarshal(caught.Value, &text); err != nil || text != tc.want {
				t.Errorf("caught: %s\n got %s, %v\nwant %s", tc.code, text, err, tc.want)
			}
		}
	}
	r := exec(h, `return await MCP.gone.fail({})`)
	const down = "MCP.gone is not there: its program cannot be started. Waiting does not mend that: do without this server, or tell a person, who finds more with quoin mcp test gone."
	if !strings.Contains(r.Error, down) || strings.Contains(r.Error, "nonexistent") {
		t.Errorf("a server that is down: %s", r.Error)
	}
	wantValue(t, exec(h, `return [typeof tools.nosuch, "nosuch" in tools, tools.nosuch?.() ?? 1, Notes.nosuch?.() ?? 2, MCP.gone ? 3 : 4, (await tools) === tools, Object.keys(Notes).length]`),
		`["undefined",false,1,2,4,true,4]`)
}
