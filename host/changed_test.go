package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

// withSchema is an echo of inputs with those properties.
func withSchema(name, schema string) catalog.Tool {
	t := echo(name)
	t.Parameters = json.RawMessage(schema)
	return t
}

const (
	oneWord  = `{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`
	twoWords = `{"type":"object","properties":{"word":{"type":"string"},"other":{"type":"string"}},"required":["word"],"additionalProperties":false}`
	number   = `{"type":"object","properties":{"number":{"type":"number"}},"required":["number"],"additionalProperties":false}`
)

// changing uses tools before and after a suspension, during which they change.
const changing = `
await tools.call("same", {word: "a"});
await tools.call("grown", {word: "a"});
await tools.call("turned", {word: "a"});
await tools.describe("gone");
await yield_control();
const said = async (name, input) => { try { return await tools.call(name, input) } catch (e) { return [e.code, e.message] } };
return {
  same: await said("same", {word: "b"}), grown: await said("grown", {word: "b"}), turned: await said("turned", {word: "b"}),
  gone: await said("gone", {}), shared: await said("shared", {}), never: await said("never", {}),
  wrong: await said("same", {}), late: await said("late", {word: "c"}), described: await tools.describe("gone").catch(e => e.code),
}`

var (
	before = []catalog.Tool{withSchema("same", oneWord), withSchema("grown", oneWord), withSchema("turned", oneWord), echo("gone"), echo("shared")}
	after  = []catalog.Tool{withSchema("same", oneWord), withSchema("grown", twoWords), withSchema("turned", number), echo("shared"), owned("shared", "other"), withSchema("late", oneWord)}
)

func checkChanged(t *testing.T, r *host.Result) {
	t.Helper()
	if r.Status != host.StatusCompleted {
		t.Fatalf("got %s", show(r))
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(r.Value, &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"same":      {`{"word":"b"}`},
		"grown":     {`{"word":"b"}`},
		"late":      {`{"word":"c"}`},
		"turned":    {`"catalog_changed"`, "quoin:core:turned has changed since this run first used it", "{ number: number }"},
		"gone":      {`"catalog_changed"`, "have changed since this run was suspended", "Unknown tool id: gone"},
		"shared":    {`"catalog_changed"`, "have changed", "Ambiguous", "quoin:other:shared"},
		"never":     {`"catalog_changed"`, "Unknown tool id: never"},
		"wrong":     {`"invalid_input"`, "missing", "Invalid input"},
		"described": {`"catalog_changed"`},
	} {
		for _, part := range want {
			if !strings.Contains(string(got[name]), part) {
				t.Errorf("%s: %s lacks %q", name, got[name], part)
			}
		}
	}
}

// TestToolsChangeWhileSuspended: a run that resumes has the tools of now. What
// still works works; what does not says, call by call, that the tools changed.
func TestToolsChangeWhileSuspended(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: before})
	id := wantWaiting(t, exec(h, changing), codemode.ReasonYield)
	if err := h.Replace(after...); err != nil {
		t.Fatal(err)
	}
	r := h.Wait(context.Background(), me, id)
	checkChanged(t, r)
	if r.Telemetry.CatalogSize != len(after) {
		t.Errorf("catalog size %d, want that of now, %d", r.Telemetry.CatalogSize, len(after))
	}
}

// TestToolsChangeBetweenHosts: the same for a run that survives its host.
func TestToolsChangeBetweenHosts(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	open := func() *runstore.Dir {
		s, err := runstore.OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := start(t, host.Config{Tools: before, Store: open()})
	id := wantWaiting(t, exec(first, changing), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, host.Config{Tools: after, Store: open()})
	checkChanged(t, second.Wait(context.Background(), me, id))
}

// TestUnchangedToolsAreNotBlamed: without a change the errors are the usual ones.
func TestUnchangedToolsAreNotBlamed(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: before})
	id := wantWaiting(t, exec(h, `await tools.same({word: "a"}); await yield_control();
return [await tools.call("never").catch(e => e.code), await tools.same({}).catch(e => e.code)]`), codemode.ReasonYield)
	if err := h.Replace(before...); err != nil { // a reload that brings the same
		t.Fatal(err)
	}
	wantValue(t, h.Wait(context.Background(), me, id), `["unknown_tool","invalid_input"]`)
}

// TestRunningProgramsKeepTheirTools: a change does not reach into an Exec or Wait.
func TestRunningProgramsKeepTheirTools(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Tools: append([]catalog.Tool{g.tool("slow")}, before...)})
	done := make(chan *host.Result)
	go func() {
		done <- exec(h, `await tools.slow(); return [await tools.gone({a: 1}), (await tools.search("gone")).length]`)
	}()
	<-g.entered
	if err := h.Replace(after...); err != nil {
		t.Fatal(err)
	}
	close(g.open)
	wantValue(t, <-done, `[{"a":1},1]`)
}

// TestViewsAreShared: sessions under the same rules share what is made for them,
// and without rules there is nothing to make.
func TestViewsAreShared(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: before})
	if !h.SameView(me, host.Session{AgentID: "x"}, true) {
		t.Error("a session without rules has a view of its own")
	}
	if err := h.Replace(after...); err != nil {
		t.Fatal(err)
	}
	if !h.SameView(me, host.Session{}, true) {
		t.Error("a session without rules keeps an old view")
	}
}
