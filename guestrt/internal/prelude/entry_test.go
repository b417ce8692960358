package prelude_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/quoinhq/quoin/guestrt/internal/prelude"
	"github.com/quoinhq/quoin/internal/wire"
	"github.com/quoinhq/quoin/namespaces"
	"modernc.org/quickjs"
)

const noConfig = `{"file":"cell.js","namespaces":[["Issues","issues"]],"limits":{}}`

func TestReservedListsTheGlobals(t *testing.T) {
	names := func(vm *quickjs.VM) (list []string) {
		text, err := vm.Eval("JSON.stringify(Object.getOwnPropertyNames(globalThis))", quickjs.EvalGlobal)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text.(string)), &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	bare, err := quickjs.NewVM()
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	before := names(bare)
	g := newPlain(t)
	g.load("async () => {}", `{}`)
	var added []string
	for _, n := range names(g.vm) {
		if !slices.Contains(before, n) {
			added = append(added, n)
		}
	}
	slices.Sort(added)
	if diff := cmp.Diff(prelude.Reserved(), added); diff != "" {
		t.Errorf("globals (-Reserved +added):\n%s", diff)
	}
}

func TestFilesAreReadWhenFirstNeededAndOnce(t *testing.T) {
	g := newPlain(t)
	source := func(body string) string { return "async () => {" + body + "; await tools.call('echo') }" }
	reads := func() (list []any) {
		for _, path := range []string{"catalog.json", "tools.json", "namespaces/issues.json"} {
			list = append(list, g.do("reads", path))
		}
		return list
	}
	steps := `tools.call; tools.search; tools.describe; Object.keys(namespaces); await tools.call("a");
		ALL_TOOLS; ALL_TOOLS; await tools.call("b");
		tools.echo; tools.nope; Object.keys(tools); await tools.call("c");
		Issues; namespaces.Issues; Issues.list; await tools.call("d")`
	g.load(source(steps), noConfig)
	got := [][]any{reads()}
	for id := uint64(1); id <= 3; id++ {
		g.turn([]wire.Settlement{{ID: id, OK: true, JSON: []byte("null")}})
		got = append(got, reads())
	}
	want := [][]any{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {1, 1, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reads of catalog, tools and scope (-want +got):\n%s", diff)
	}
}

func TestSettleKnowsItsCalls(t *testing.T) {
	g := newPlain(t)
	r := g.load("async () => [await tools.call('a'), await tools.call('b')]", noConfig)
	if r.Pending != 1 || len(r.Requests) != 1 || r.Requests[0].ID != 1 {
		t.Fatalf("first turn: %+v", r)
	}
	if g.do("settle", 2, true, "1") != false {
		t.Error("a call that was never made could be settled")
	}
	if g.do("settle", 1, true, "1") != true || g.do("settle", 1, true, "2") != false {
		t.Error("a call is not settled exactly once")
	}
	if r := g.settleDown(); r.Pending != 1 || len(r.Requests) != 1 || r.Requests[0].ID != 2 {
		t.Errorf("second turn: %+v", r)
	}
	if r := g.turn([]wire.Settlement{{ID: 2, OK: true, JSON: []byte("3")}}); r.Value != "[1,3]" || r.Pending != 0 {
		t.Errorf("end: %+v", r)
	}
}

func TestAnswerThatIsNotJSONRejects(t *testing.T) {
	g := newPlain(t)
	g.load("async () => { try { await tools.call('a') } catch (e) { return e.name } }", noConfig)
	if r := g.turn([]wire.Settlement{{ID: 1, OK: true, JSON: []byte("{")}}); r.Value != `"SyntaxError"` {
		t.Errorf("got %+v", r)
	}
}

func TestEmptyAnswerIsUndefined(t *testing.T) {
	g := newPlain(t)
	g.load("async () => typeof await yield_control()", noConfig)
	if r := g.turn([]wire.Settlement{{ID: 1, OK: true}}); r.Value != `"undefined"` {
		t.Errorf("got %+v", r)
	}
}

func TestTimerFigures(t *testing.T) {
	for source, want := range map[string]int64{
		"await new Promise(() => {})":                                                 -1,
		"setTimeout(() => {}, 1000); await new Promise(() => {})":                     1000,
		"setTimeout(() => {}, 9000); setTimeout(() => {}, 50); await tools.call('a')": 50,
		"setInterval(() => {}, 0); await tools.call('a')":                             1,
		"clearTimeout(setTimeout(() => {}, 1000)); await tools.call('a')":             -1,
		"setTimeout(() => {}, 2 ** 31 - 1); await tools.call('a')":                    1<<31 - 1,
		"setTimeout(() => setTimeout(() => {}, 0), 0); await tools.call('a')":         0,
		"setTimeout(() => {}, 1000)":                                                  -1,
	} {
		if r := newPlain(t).load("async () => {"+source+"}", noConfig); r.Timer != want {
			t.Errorf("%s: timer %d, want %d", source, r.Timer, want)
		}
	}
}

func TestFinishedGuestFiresNothing(t *testing.T) {
	g := newPlain(t)
	r := g.load("async () => { setTimeout(() => text('late'), 0); setInterval(() => text('late'), 0) }", noConfig)
	if r.Status != wire.StatusDone || len(r.Output) != 0 || g.do("fire") != false || len(g.drain().Output) != 0 {
		t.Errorf("got %+v", r)
	}
}

func TestDrainTakesWhatItReports(t *testing.T) {
	g := newPlain(t)
	r := g.load("async () => { text(1); await tools.call('a') }", noConfig)
	if len(r.Output) != 1 || len(r.Requests) != 1 {
		t.Fatalf("first drain: %+v", r)
	}
	if r := g.drain(); len(r.Output) != 0 || len(r.Requests) != 0 || r.Pending != 1 {
		t.Errorf("second drain: %+v", r)
	}
}

// TestRejectionLedger plays the engine's part: triples of kind, promise, reason.
func TestRejectionLedger(t *testing.T) {
	g := newPlain(t)
	g.do("start", noConfig, "async () => { globalThis.p = [{}, {}, {}]; await tools.call('a') }")
	g.do("reject", 0, "p[0]", "new TypeError('zero')")
	g.do("reject", 0, "p[1]", "new TypeError('one')")
	if r := g.settleDown(); r.Status != wire.StatusIdle {
		t.Fatalf("first turn: %+v", r)
	}
	if g.do("held") != false {
		t.Error("the prelude leaves references in the engine's list")
	}
	g.do("reject", 1, "p[0]", "undefined")
	g.do("reject", 0, "p[2]", "'two'")
	g.do("reject", 1, "p[2]", "undefined")
	r := g.turn([]wire.Settlement{{ID: 1, OK: true, JSON: []byte("1")}})
	if r.Status != wire.StatusFailed || r.Err.Name != "TypeError" || r.Err.Message != "one" || r.Err.Kind != "unhandled_rejection" {
		t.Errorf("got %+v %+v", r, r.Err)
	}
}

func TestFailureIsBounded(t *testing.T) {
	g := newPlain(t)
	r := g.load(`async () => { const e = new Error("m".repeat(1e5)); e.name = "n".repeat(1e5); e.stack = "s".repeat(1e5); throw e }`, noConfig)
	if r.Err == nil {
		t.Fatalf("got %+v", r)
	}
	const note = len("… [100000 more characters]")
	for what, n := range map[string][2]int{"name": {len(r.Err.Name), 256}, "message": {len(r.Err.Message), 8192}, "stack": {len(r.Err.Stack), 8192}} {
		if n[0] < n[1] || n[0] > n[1]+note {
			t.Errorf("%s has %d bytes, want about %d", what, n[0], n[1])
		}
	}
}

func TestClippingKeepsPairsWhole(t *testing.T) {
	g := newPlain(t)
	r := g.load(`async () => { throw "x" + "😀".repeat(5000) }`, noConfig)
	if r.Err == nil || strings.ContainsRune(r.Err.Message, '\ufffd') || !strings.Contains(r.Err.Message, "😀… [") {
		t.Errorf("got %+v", r.Err)
	}
}

func TestMalformedScopeFailsAtTheTouch(t *testing.T) {
	for _, scope := range []string{`{}`, `{"kind":"object","entries":{"a":{"kind":"odd"}}}`, `5`, `null`} {
		hostFiles["namespaces/odd.json"] = scope
		r := newPlain(t).load("async () => { try { Odd } catch (e) { return e.message } }", `{"namespaces":[["Odd","odd"]]}`)
		if r.Status != wire.StatusDone || !strings.Contains(r.Value, "malformed") {
			t.Errorf("%s: %+v", scope, r)
		}
	}
	delete(hostFiles, "namespaces/odd.json")
}

func TestNamespaceCannotTakeAGlobal(t *testing.T) {
	g := newPlain(t)
	_, err := g.drive.Call(quickjs.UndefinedValue, "start", `{"namespaces":[["Map","issues"]]}`, "async () => {}")
	if err == nil || !strings.Contains(err.Error(), "namespace global Map is taken") {
		t.Errorf("got %v", err)
	}
}

func TestCellThatIsNoPromise(t *testing.T) {
	for source, want := range map[string]string{
		"() => { throw new RangeError('at once') }": "at once",
		"() => 5":                  "",
		"() => ({then() {}})":      "",
		"() => Object.freeze([1])": "",
	} {
		if r := newPlain(t).load(source, noConfig); r.Status != wire.StatusFailed || !strings.Contains(r.Err.Message, want) {
			t.Errorf("%s: %+v", source, r)
		}
	}
}

// TestNamespacesCannotTakeTheGlobals: registration refuses what a guest could not
// start with.
func TestNamespacesCannotTakeTheGlobals(t *testing.T) {
	for _, name := range prelude.Reserved() {
		if !namespaces.IsReserved(name) {
			t.Errorf("a plugin may register a namespace called %s", name)
		}
	}
}

func TestConsoleTimers(t *testing.T) {
	g := newPlain(t)
	g.load("async () => { console.time('t'); await tools.call('a'); console.timeEnd('t') }", noConfig)
	g.wait(50)
	if r := g.turn([]wire.Settlement{{ID: 1, OK: true}}); len(r.Output) != 1 || r.Output[0] != `["text","t: 50ms"]` {
		t.Errorf("got %+v", r)
	}
}
