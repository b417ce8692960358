package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
)

// TestHostileGuests runs programs that try to harm the host, and a good one on
// the same host after each.
func TestHostileGuests(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{
		Settings: host.Settings{MemoryLimit: 32 << 20, Timeout: time.Minute},
		Tools:    []catalog.Tool{echo("echo")},
	})
	for _, tc := range []struct {
		name, code string
		want       codemode.Code
	}{
		{"endless loop", `for (;;);`, codemode.CodeTimeout},
		{"endless loop after an await", `await tools.echo(); for (;;);`, codemode.CodeTimeout},
		{"loop in a native function", `[].indexOf.call({length: 2 ** 53 - 1}, 1)`, codemode.CodeTimeout},
		{"endless microtasks", `const f = () => queueMicrotask(f); f(); await new Promise(() => {})`, codemode.CodeTimeout},
		{"uncatchable", `for (;;) { try { for (;;); } catch {} finally { continue } }`, codemode.CodeTimeout},
		{"memory", `const a = []; for (;;) a.push(new Array(1000).fill(a.length))`, codemode.CodeMemoryLimit},
		{"memory, swallowed", `const a = []; for (;;) { try { a.push(new Uint8Array(1 << 20)) } catch {} }`, codemode.CodeMemoryLimit},
		{"one huge string", `return "x".repeat(2 ** 29)`, codemode.CodeMemoryLimit},
		{"recursion", `const f = () => f(); f()`, codemode.CodeInternal},
		{"output flood", `for (let i = 0; i < 1e5; i++) text("x".repeat(100)); return 1`, codemode.CodeOutputLimit},
		{"value flood", `return "x".repeat(1e6)`, codemode.CodeOutputLimit},
		{"throwing getter", `return { get x() { throw new Error("trap") } }`, codemode.CodeInternal},
		{"call flood", `await Promise.all(Array.from({length: 5000}, () => tools.echo()))`, codemode.CodeInvalidInput},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := host.ExecInput{Code: tc.code}
			if tc.want == codemode.CodeTimeout {
				in.Timeout = soon
			}
			r := h.Exec(context.Background(), me, in)
			if r.Status != host.StatusFailed || r.Code != tc.want {
				t.Errorf("got %.600s\nwant failed %s", show(r), tc.want)
			}
			wantValue(t, exec(h, `return "still here"`), `"still here"`)
		})
	}
}

func TestOutputLimitKeepsAPrefix(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Settings: host.Settings{MaxOutput: 1 << 10}})
	r := exec(h, `text("é".repeat(2000)); return 1`)
	wantFailure(t, r, codemode.CodeOutputLimit, "", codemode.PhaseGuest)
	if len(r.Output) != 1 {
		t.Fatalf("got %s, want a prefix of the output", show(r))
	}
	kept := r.Output[0].Text()
	if len(kept) < 900 || strings.Trim(kept, "é") != "" {
		t.Errorf("kept %d bytes %q…, want nearly 1 KiB of whole characters", len(kept), kept[:min(20, len(kept))])
	}
	// 4,000 bytes of text in its wrapper and the value 1, less what was kept.
	want := `{"type":"text","text":"` + `"}`
	omitted := len(want) + 4000 + 1 - (len(want) + len(kept))
	if !strings.Contains(r.Error, "limit exceeded: "+itoa(omitted)+" bytes") {
		t.Errorf("error %q does not name the %d omitted bytes", r.Error, omitted)
	}
}

// TestOmittedBytesAreExact: also of more items than anyone would read.
func TestOmittedBytesAreExact(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Settings: host.Settings{Timeout: time.Minute}})
	for _, n := range []int{10_000, 60_000} {
		r := exec(h, `for (let i = 0; i < `+itoa(n)+`; i++) text("0123456789"); return 1`)
		wantFailure(t, r, codemode.CodeOutputLimit, "", codemode.PhaseGuest)
		item := len(`{"type":"text","text":"0123456789"}`)
		kept := 0
		for _, o := range r.Output {
			kept += item - len("0123456789") + len(o.Text())
		}
		if want := "exceeded: " + itoa(n*item+1-kept) + " bytes"; !strings.Contains(r.Error, want) {
			t.Errorf("%d items: error %q does not say %q", n, r.Error, want)
		}
	}
}

func TestOutputLimitIsExact(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	r := exec(h, `return "x".repeat(65534)`)
	if r.Status != host.StatusCompleted {
		t.Errorf("65,536 bytes of value: %.300s, want completed", show(r))
	}
	wantFailure(t, exec(h, `return "x".repeat(65535)`), codemode.CodeOutputLimit, "", codemode.PhaseGuest)
	wantFailure(t, exec(h, `text(""); return "x".repeat(65534)`), codemode.CodeOutputLimit, "", codemode.PhaseGuest)
}

// TestValueTooLarge: a small graph that unfolds to more values than one result may
// have is stopped by the count, not by the clock.
func TestValueTooLarge(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Settings: host.Settings{Timeout: time.Minute}})
	r := exec(h, `let a = [0]; for (let i = 0; i < 25; i++) a = [a, a]; return a`)
	wantFailure(t, r, codemode.CodeOutputLimit, "", codemode.PhaseGuest)
}

func TestOutputTruncated(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Settings: host.Settings{MaxOutput: 1 << 10, OnOutputLimit: codemode.OutputTruncate}})
	r := exec(h, `return "x".repeat(5000)`)
	if r.Status != host.StatusCompleted || !strings.Contains(string(r.Value), `"truncated":true`) || len(r.Value) > 1<<10 {
		t.Errorf("got %s, want a marker", show(r))
	}
}

// TestRepliesThatDoNotFit: what a tool answers is the tool's affair; it rejects or
// arrives, and never ends the run.
func TestRepliesThatDoNotFit(t *testing.T) {
	t.Parallel()
	reply := func(name, value string) catalog.Tool {
		c := echo(name)
		c.Invoke = func(context.Context, catalog.Invocation) (json.RawMessage, error) { return json.RawMessage(value), nil }
		return c
	}
	panics := echo("panics")
	panics.Invoke = func(context.Context, catalog.Invocation) (json.RawMessage, error) { panic("a bug") }
	h := start(t, host.Config{
		Settings: host.Settings{MemoryLimit: 1 << 30, Timeout: time.Minute},
		Tools: []catalog.Tool{
			reply("binary", "\"\xff\xfe\""), reply("broken", "{"), reply("nothing", ""), panics,
			reply("huge", `"`+strings.Repeat("x", 9<<20)+`"`), reply("large", `"`+strings.Repeat("x", 7<<20)+`"`),
		},
	})
	for _, tc := range []struct{ name, code, want string }{
		{"not UTF-8", `try { await tools.binary() } catch (e) { return e.code }`, `"invalid_reply"`},
		{"not JSON", `try { await tools.broken() } catch (e) { return e.code }`, `"invalid_reply"`},
		{"too large", `try { await tools.huge() } catch (e) { return e.code }`, `"reply_too_large"`},
		{"a panic", `try { await tools.panics() } catch (e) { return [e.code, e.effectStatus] }`, `["tool_panic","unknown"]`},
		{"nothing", `return await tools.nothing()`, `null`},
		{"many large ones at once", `return (await Promise.all(Array.from({length: 12}, () => tools.large()))).map(s => s.length >> 20)`, `[7,7,7,7,7,7,7,7,7,7,7,7]`},
	} {
		t.Run(tc.name, func(t *testing.T) { wantValue(t, exec(h, tc.code), tc.want) })
	}
}

func TestAbort(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Tools: []catalog.Tool{g.tool("slow"), echo("echo")}})
	t.Run("while the guest spins", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		spinning := make(chan struct{})
		go func() {
			<-spinning
			cancel()
		}()
		close(spinning)
		r := h.Exec(ctx, me, host.ExecInput{Code: `for (;;);`})
		wantFailure(t, r, codemode.CodeAborted, "", codemode.PhaseHost)
	})
	t.Run("while a tool runs", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			<-g.entered
			cancel()
		}()
		r := h.Exec(ctx, me, host.ExecInput{Code: `await tools.slow()`})
		wantFailure(t, r, codemode.CodeAborted, "", codemode.PhaseHost)
		<-g.ended // the tool's context ended
		if !r.Dispatched {
			t.Error("dispatched is not set")
		}
	})
	wantValue(t, exec(h, `return 1`), `1`)
}

func TestAbortByID(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Tools: []catalog.Tool{g.tool("slow")}})
	id := wantWaiting(t, exec(h, `tools.slow(); await yield_control(); return 1`), codemode.ReasonPendingTools)
	<-g.entered
	wantFailure(t, h.Abort(context.Background(), host.Session{}, id), codemode.CodeInvalidInput, codemode.ReasonWrongSession, codemode.PhaseInput)
	wantFailure(t, h.Abort(context.Background(), me, id), codemode.CodeAborted, "", codemode.PhaseHost)
	<-g.ended // its call was cancelled
	wantFailure(t, h.Wait(context.Background(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
	wantFailure(t, h.Abort(context.Background(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)

	// A run that is being driven: the driver's result is aborted.
	id = wantWaiting(t, exec(h, `await yield_control(); return await tools.slow()`), codemode.ReasonYield)
	driven := make(chan *host.Result)
	go func() { driven <- h.Wait(context.Background(), me, id) }()
	<-g.entered
	wantFailure(t, h.Abort(context.Background(), me, id), codemode.CodeAborted, "", codemode.PhaseHost)
	wantFailure(t, <-driven, codemode.CodeAborted, "", codemode.PhaseHost)
}

func TestAbortOfAStoredRun(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	first := start(t, host.Config{Store: openState(t, dir)})
	id := wantWaiting(t, exec(first, `await yield_control(); return 1`), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, host.Config{Store: openState(t, dir)})
	wantFailure(t, second.Abort(context.Background(), host.Session{}, id), codemode.CodeInvalidInput, codemode.ReasonWrongSession, codemode.PhaseInput)
	wantFailure(t, second.Abort(context.Background(), me, id), codemode.CodeAborted, "", codemode.PhaseHost)
	wantFailure(t, second.Wait(context.Background(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
}
