package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/sqlite"
)

// picker is a tool that the caller answers itself.
func picker(name string) catalog.Tool {
	return catalog.Tool{
		Name:        name,
		Description: "Asks the person at the screen for a file.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"],"additionalProperties":false}`),
	}
}

func execWith(h *host.Host, code string, tools ...catalog.Tool) *host.Result {
	return h.Exec(context.Background(), me, host.ExecInput{Code: code, Tools: tools})
}

func answer(t *testing.T, h *host.Host, runID, callID, value string) {
	t.Helper()
	if err := h.Answer(context.Background(), me, runID, callID, host.ToolAnswer{Value: json.RawMessage(value)}); err != nil {
		t.Fatalf("Answer: %v", err)
	}
}

func TestClientToolWithCallback(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}})
	pick := picker("pick_file")
	pick.Invoke = func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
		if c.Session.SessionID != me.SessionID || c.ToolID != "client:client:pick_file" {
			t.Errorf("invocation %+v", c)
		}
		return c.Input, nil
	}
	r := execWith(h, `
const e = ALL_TOOLS.find(t => t.source === "client");
return [e.id, await tools.pick_file({title: "one"}), await tools.call(e.id, {title: "two"}), (await tools.search("pick a file"))[0].id, (await tools.describe("pick_file")).parameters.required]`, pick)
	wantValue(t, r, `["client:client:pick_file",{"title":"one"},{"title":"two"},"client:client:pick_file",["title"]]`)
	if r.Telemetry.CatalogSize != 2 || r.Telemetry.Sources["client"] != 1 {
		t.Errorf("telemetry %+v", r.Telemetry)
	}
	r = execWith(h, `try { await tools.pick_file({}) } catch (e) { return [e.code, e.message] }`, pick)
	if !strings.Contains(string(r.Value), "invalid_input") || !strings.Contains(string(r.Value), "{ title: string }") {
		t.Errorf("got %s, want the input refused with the shape that is expected", show(r))
	}
}

// TestClientToolAnswered: the run waits as soon as it needs its caller, not at its deadline,
// and says what the caller is to do.
func TestClientToolAnswered(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}})
	r := execWith(h, `
const [a, b, c] = await Promise.allSettled([tools.pick_file({title: "a"}), tools.pick_file({title: "b"}), tools.echo({n: 3})]);
return [a.value, b.reason.message, b.reason.toolId, c.value]`, picker("pick_file"))
	id := wantWaiting(t, r, codemode.ReasonPendingTools)
	if len(r.PendingToolCalls) != 2 {
		t.Fatalf("pending %s", show(r))
	}
	for i, want := range []string{`{"title":"a"}`, `{"title":"b"}`} {
		if p := r.PendingToolCalls[i]; string(p.Input) != want || p.Tool != "client:client:pick_file" || p.Method != "call" {
			t.Errorf("pending call %d is %+v, want the input %s", i, p, want)
		}
	}
	// Nothing answered: the run waits on, and costs no deadline.
	if again := h.Wait(context.Background(), me, id); again.RunID != id || len(again.PendingToolCalls) != 2 {
		t.Fatalf("got %s, want the same two calls", show(again))
	}
	answer(t, h, id, r.PendingToolCalls[0].ID, `{"path":"/a"}`)
	if err := h.Answer(context.Background(), me, id, r.PendingToolCalls[1].ID, host.ToolAnswer{Error: "nobody there"}); err != nil {
		t.Fatal(err)
	}
	wantValue(t, h.Wait(context.Background(), me, id), `[{"path":"/a"},"nobody there","client:client:pick_file",{"n":3}]`)
}

// TestAnswerIsIdempotent: the first answer counts, before and after the guest has
// it.
func TestAnswerIsIdempotent(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	r := execWith(h, `const first = await tools.pick({title: "a"}); await yield_control(); return first`, picker("pick"))
	id, call := wantWaiting(t, r, codemode.ReasonPendingTools), r.PendingToolCalls[0].ID
	answer(t, h, id, call, `1`)
	answer(t, h, id, call, `2`)
	wantWaiting(t, h.Wait(context.Background(), me, id), codemode.ReasonYield)
	answer(t, h, id, call, `3`)
	wantValue(t, h.Wait(context.Background(), me, id), `1`)
}

// TestAnswersAtOnce: of many answers to many calls, each call gets one.
func TestAnswersAtOnce(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	r := execWith(h, `return await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(n => tools.pick({title: String(n)})))`, picker("pick"))
	id := wantWaiting(t, r, codemode.ReasonPendingTools)
	var wg sync.WaitGroup
	for _, p := range r.PendingToolCalls {
		for range 3 {
			wg.Go(func() { answer(t, h, id, p.ID, string(p.Input)) })
		}
	}
	wg.Wait()
	wantValue(t, h.Wait(context.Background(), me, id), `[{"title":"0"},{"title":"1"},{"title":"2"},{"title":"3"},{"title":"4"},{"title":"5"},{"title":"6"},{"title":"7"}]`)
}

func TestAnswerErrors(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Tools: []catalog.Tool{g.tool("slow")}, Settings: host.Settings{Wait: soon}})
	r := execWith(h, `return await Promise.all([tools.slow(), tools.pick({title: "a"})])`, picker("pick"))
	id := wantWaiting(t, r, codemode.ReasonPendingTools)
	slow, pick := r.PendingToolCalls[0].ID, r.PendingToolCalls[1].ID
	if r.PendingToolCalls[0].Input != nil {
		t.Error("the caller is asked to answer a call that the host answers")
	}
	other := me
	other.SessionID = "another"
	turn := me
	turn.TurnID = "another"
	for _, tc := range []struct {
		name          string
		who           host.Session
		run, call     string
		value         string
		reason        codemode.Reason
		code          codemode.Code
		message, note string
	}{
		{name: "no run", who: me, run: "run_none", call: pick, code: codemode.CodeInvalidInput, reason: codemode.ReasonRunUnavailable, message: "unavailable"},
		{name: "another session", who: other, run: id, call: pick, code: codemode.CodeInvalidInput, reason: codemode.ReasonWrongSession, message: "different session"},
		{name: "another turn", who: turn, run: id, call: pick, code: codemode.CodeInvalidInput, reason: codemode.ReasonWrongRun, message: "different agent run"},
		{name: "no call", who: me, run: id, call: "bridge:call:99", code: codemode.CodeInvalidInput, message: "bridge:call:99"},
		{name: "a call of the host's", who: me, run: id, call: slow, code: codemode.CodeInvalidInput, message: "pendingToolCalls"},
		{name: "no JSON", who: me, run: id, call: pick, value: `{`, code: codemode.CodeInvalidInput, message: "not JSON"},
		{name: "no UTF-8", who: me, run: id, call: pick, value: "\"\xff\"", code: codemode.CodeInvalidInput, message: "not JSON in UTF-8"},
	} {
		err := h.Answer(context.Background(), tc.who, tc.run, tc.call, host.ToolAnswer{Value: json.RawMessage(tc.value)})
		var e *host.Error
		if !errors.As(err, &e) || e.Code != tc.code || e.Reason != tc.reason || !strings.Contains(e.Message, tc.message) {
			t.Errorf("%s: got %v, want %s/%s with %q", tc.name, err, tc.code, tc.reason, tc.message)
		}
	}
	close(g.open)
	answer(t, h, id, pick, `null`)
	r = h.Wait(context.Background(), me, id)
	wantValue(t, r, `["through",null]`)
	if err := h.Answer(context.Background(), me, id, pick, host.ToolAnswer{}); !errors.Is(err, &host.Error{Code: codemode.CodeInvalidInput, Reason: codemode.ReasonRunUnavailable}) {
		t.Errorf("a run that has ended: %v", err)
	}
}

// TestClientToolsSurviveRestart: definitions are stored with the run, so that the
// next host can be answered too, and callbacks that are gone say so.
func TestClientToolsSurviveRestart(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	store := func() *sqlite.DB { return openState(t, dir) }
	code := `
const picked = tools.pick({title: "a"});
await yield_control();
const lost = await tools.shout({}).catch(e => [e.code, /callback/.test(e.message)]);
return [await picked, lost, ALL_TOOLS.length, await tools.call("echo", {n: 1}).catch(e => e.code), await tools.pick({}).catch(e => e.code)]`
	shout := catalog.Tool{Name: "shout", Description: "Shouts.", Invoke: echo("x").Invoke}
	rules := policy.Rules{Deny: []string{"echo"}}
	cfg := host.Config{Tools: []catalog.Tool{echo("echo")}, Store: store()}
	first := start(t, cfg)
	r := first.Exec(context.Background(), me, host.ExecInput{Code: code, Tools: []catalog.Tool{picker("pick"), shout}, Rules: rules})
	id := wantWaiting(t, r, codemode.ReasonPendingTools)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Store = store()
	second := start(t, cfg)
	answer(t, second, id, r.PendingToolCalls[0].ID, `"file"`)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Store = store()
	third := start(t, cfg)
	answer(t, third, id, r.PendingToolCalls[0].ID, `"another"`)
	wantValue(t, third.Wait(context.Background(), me, id), `["file",["catalog_changed",true],2,"unknown_tool","invalid_input"]`)
}

// TestALostAnswerIsAskedForAnew: a host was killed when it had taken an answer and
// had not yet put it into the journal.
func TestALostAnswerIsAskedForAnew(t *testing.T) {
	t.Parallel()
	store := openState(t, mkdir(t))
	first := start(t, host.Config{Store: store})
	r := first.Exec(context.Background(), me, host.ExecInput{Code: `return await tools.pick({title: "a"})`, Tools: []catalog.Tool{picker("pick")}})
	id := wantWaiting(t, r, codemode.ReasonPendingTools)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	rec, err := store.Get(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	rec.Answered = append(rec.Answered, rec.Calls[0].ID)
	rec.Generation++
	claim, err := store.Claim(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := claim.Checkpoint(context.Background(), rec); err != nil {
		t.Fatal(err)
	}
	claim.Release()
	second := start(t, host.Config{Store: store})
	answer(t, second, id, r.PendingToolCalls[0].ID, `"file"`)
	wantValue(t, second.Wait(context.Background(), me, id), `"file"`)
}

// TestClientToolsShadowNothing: a client's tool with the name of another makes the
// name ambiguous and takes no function away from anyone silently.
func TestClientToolsShadowNothing(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo"), echo("exec")}})
	mine := catalog.Tool{Name: "echo", Description: "Echoes.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return json.RawMessage(`"mine"`), nil
	}}
	r := execWith(h, `
const ambiguous = await tools.call("echo", {}).catch(e => [e.code, e.message.includes("client:client:echo"), e.message.includes("quoin:core:echo")]);
return [typeof tools.echo, ambiguous, await tools.call("quoin:core:echo", {a: 1}), await tools.call("client:client:echo"), ALL_TOOLS.map(t => t.id)]`, mine)
	wantValue(t, r, `["undefined",["ambiguous_tool",true,true],{"a":1},"mine",["quoin:core:echo","quoin:core:exec","client:client:echo"]]`)
}

func TestClientToolDefinitions(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	huge := picker("huge")
	huge.Description = strings.Repeat("x", 2<<20)
	many := make([]catalog.Tool, 257)
	for i := range many {
		many[i] = picker("pick")
	}
	example := picker("example")
	example.Examples = []catalog.Example{{Input: json.RawMessage(`{"title":"fine"}`)}, {Input: json.RawMessage(`{"titel":1}`)}}
	for say, tools := range map[string][]catalog.Tool{
		`tools[1]`:                {picker("a"), {Name: " "}},
		`source "quoin"`:          {{Name: "a", Source: catalog.SourceQuoin}},
		`rename it`:               {{Name: "tool_search"}},
		`':'`:                     {{Name: "a", Owner: "x:y"}},
		`unusable schema`:         {{Name: "a", Parameters: json.RawMessage(`{"type":"objekt"}`)}},
		`output schema`:           {{Name: "a", Output: json.RawMessage(`{"type":5}`)}},
		`not valid JSON`:          {{Name: "a", Parameters: json.RawMessage(`{`)}},
		`example 2`:               {example},
		`client:client:same`:      {picker("same"), picker("same")},
		`more than 1048576 bytes`: {huge},
		`at most 256`:             many,
		`have 1573209`:            {sized("a"), sized("b"), sized("c")},
	} {
		r := execWith(h, `return 1`, tools...)
		wantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput)
		if !strings.Contains(r.Error, say) {
			t.Errorf("error %q does not say %q", r.Error, say)
		}
	}
	wantValue(t, execWith(h, `return ALL_TOOLS.map(t => t.id)`, catalog.Tool{Name: "select", Owner: "app", Source: catalog.SourceClient}), `["client:app:select"]`)
}

func sized(name string) catalog.Tool {
	t := picker(name)
	t.Description = strings.Repeat("x", 512<<10)
	return t
}

// TestCallersTurnLetsTimersRun: a caller that keeps asking does not keep the
// program's timers from running.
func TestCallersTurnLetsTimersRun(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	r := execWith(h, `
const pick = tools.pick({title: "a"});
let done = false;
setTimeout(() => { done = true; text("rang") }, 20);
return [await pick, done]`, picker("pick"))
	id, call := wantWaiting(t, r, codemode.ReasonPendingTools), r.PendingToolCalls[0].ID
	for len(r.Output) == 0 {
		r = h.Wait(context.Background(), me, id)
		wantWaiting(t, r, codemode.ReasonPendingTools)
	}
	answer(t, h, id, call, `1`)
	wantValue(t, h.Wait(context.Background(), me, id), `[1,true]`)
}

// TestAskedCallsTakeSlots: what the caller is asked at once is bounded like every
// other call in flight, and the rest follows.
func TestAskedCallsTakeSlots(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Settings: host.Settings{MaxPendingCalls: 2}})
	r := execWith(h, `return (await Promise.all(["a", "b", "c"].map(title => tools.pick({title})))).join("")`, picker("pick"))
	for round := 0; r.Status == host.StatusWaiting; round++ {
		asked := 0
		for _, p := range r.PendingToolCalls {
			if p.Input != nil {
				asked++
				answer(t, h, r.RunID, p.ID, string(p.Input[9:12]))
			}
		}
		if asked == 0 || asked > 2 {
			t.Fatalf("round %d: %d calls asked: %s", round, asked, show(r))
		}
		r = h.Wait(context.Background(), me, r.RunID)
	}
	wantValue(t, r, `"abc"`)
}

// TestAbortEndsAskedCalls: they wait for no answer that cannot come.
func TestAbortEndsAskedCalls(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	r := execWith(h, `return await tools.pick({title: "a"})`, picker("pick"))
	id := wantWaiting(t, r, codemode.ReasonPendingTools)
	if r := h.Abort(context.Background(), me, id); r.Code != codemode.CodeAborted {
		t.Fatalf("got %s", show(r))
	}
	if err := h.Answer(context.Background(), me, id, r.PendingToolCalls[0].ID, host.ToolAnswer{}); err == nil {
		t.Error("an aborted run was answered")
	}
}
