package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// withSchema is an echo of inputs with those properties.
func withSchema(name, schema string) catalog.Tool {
	t := echo(name)
	t.Parameters = json.RawMessage(schema)
	return t
}

const (
	oneWord = `{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`
	number  = `{"type":"object","properties":{"number":{"type":"number"}},"required":["number"],"additionalProperties":false}`
)

// TestToolFilesInPrograms: what API lists can be read, is as long as it says, and
// says nothing of tools that the rules deny or that another run's caller brought.
func TestToolFilesInPrograms(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{
		Tools: []catalog.Tool{echo("shared"), owned("shared", "desk"), echo("list-all"), echo("hidden")},
		Rules: policy.Scopes{Rules: policy.Rules{Deny: []string{"hidden"}}},
	})
	program := `
const utf8 = new TextEncoder();
const files = (await API.list("tools")).files;
for (const f of files) {
  const read = await API.read(f.path);
  if (read.content.length === 0 || utf8.encode(read.content).length !== f.bytes) throw new Error(f.path);
}
let missing;
try { await API.read("tools/hidden.d.ts") } catch (e) { missing = e.message }
return [files.map(f => f.path), (await API.read("tools/list_all.d.ts")).content.includes("list_all(input?: "), missing.includes("tools/hidden.d.ts"),
  (await API.read("tools/desk/shared.d.ts")).content.includes('call(id: "quoin:desk:shared", input?: ')]`
	r := h.Exec(context.Background(), me, host.ExecInput{Code: program, Tools: []catalog.Tool{picker("pick")}})
	wantValue(t, r, `[["tools/core/shared.d.ts","tools/desk/shared.d.ts","tools/index.d.ts","tools/list_all.d.ts","tools/pick.d.ts"],true,true,true]`)
	r = exec(h, program)
	wantValue(t, r, `[["tools/core/shared.d.ts","tools/desk/shared.d.ts","tools/index.d.ts","tools/list_all.d.ts"],true,true,true]`)
}

// TestReadingAFileIsUsingTheTool: a program that read how a tool was declared is told
// when it is not so any more.
func TestReadingAFileIsUsingTheTool(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{withSchema("turned", oneWord)}})
	id := wantWaiting(t, exec(h, `
const file = (await API.read("tools/turned.d.ts")).content;
await yield_control();
return [file.includes("word: string"), await tools.turned({word: "a"}).catch(e => e.code)]`), codemode.ReasonYield)
	if err := h.Replace(withSchema("turned", number)); err != nil {
		t.Fatal(err)
	}
	wantValue(t, h.Wait(context.Background(), me, id), `[true,"catalog_changed"]`)
}

// TestViewsAreShared: sessions under the same rules share what is made for them,
// and without rules there is nothing to make.
func TestViewsAreShared(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("before")}})
	if !h.SameView(me, host.Session{AgentID: "x"}, true) {
		t.Error("a session without rules has a view of its own")
	}
	if err := h.Replace(echo("after")); err != nil {
		t.Fatal(err)
	}
	if !h.SameView(me, host.Session{}, true) {
		t.Error("a session without rules keeps an old view")
	}
}
