package host_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
)

func panicking() catalog.Tool {
	t := echo("panics")
	t.ReadOnly = false
	t.Invoke = func(context.Context, catalog.Invocation) (json.RawMessage, error) { panic("no") }
	return t
}

func pendingAtMost(n int64) func(*host.Config) {
	return func(c *host.Config) { c.Settings.MaxPendingCalls = n }
}

// queueCases: calls beyond maxPendingToolCalls.
var queueCases = []lifecycleCase{
	{name: "calls beyond the limit queue", cfg: pendingAtMost(2), do: func(w *world) {
		done := w.background(func() *host.Result {
			return exec(w.h, `return (await Promise.all(Array.from({length: 5}, () => tools.a()))).length`)
		})
		w.entered("a", "a")
		w.is(w.calls("a") == 0, "more calls than may be in flight")
		w.open("a")
		w.value(<-done, `5`)
	}},
	{name: "the fullest queue", cfg: pendingAtMost(64), do: func(w *world) {
		w.value(exec(w.h, `return (await Promise.all(Array.from({length: 4064}, (_, n) => tools.echo({n})))).length`), `4064`)
	}},
	{name: "a burst beyond the queue starts nothing", cfg: pendingAtMost(1), do: func(w *world) {
		r := exec(w.h, `await Promise.all(Array.from({length: 4002}, () => tools.a()))`)
		w.failed(r, codemode.CodeInvalidInput, codemode.ReasonTooManyPending)
		w.is(w.calls("a") == 0 && !r.Dispatched, "a call was made")
	}},
	{name: "a second burst beyond the queue starts nothing of it", cfg: pendingAtMost(1), do: func(w *world) {
		r := exec(w.h, `tools.a(); await tools.search("x"); await Promise.all(Array.from({length: 4001}, () => tools.b()))`)
		w.failed(r, codemode.CodeInvalidInput, codemode.ReasonTooManyPending)
		w.is(w.calls("b") == 0, "a call of the second burst was made")
	}},
	{name: "searches take no slot", cfg: pendingAtMost(1), do: func(w *world) {
		w.value(exec(w.h, `return (await Promise.all(Array.from({length: 500}, () => tools.search("echo")))).length`), `500`)
	}},
	{name: "queued calls start while suspended", cfg: pendingAtMost(1), do: func(w *world) {
		id := w.exec(`const all = Promise.all([tools.a(), tools.b()]); await yield_control(); return await all`, codemode.ReasonPendingTools)
		w.entered("a")
		w.is(w.calls("b") == 0, "two calls in flight")
		w.open("a")
		w.entered("b")
		w.open("b")
		w.value(w.wait(id), `["through","through"]`)
	}},
	{name: "queued calls are never made after an abort", cfg: pendingAtMost(1), do: func(w *world) {
		id := w.exec(`tools.a(); tools.b(); await yield_control()`, codemode.ReasonPendingTools)
		w.entered("a")
		w.failed(w.h.Abort(context.Background(), me, id), codemode.CodeAborted, "")
		w.cancelled("a")
		w.is(w.calls("b") == 0, "a queued call was made")
	}},
	{name: "queued calls are made by the next host", cfg: pendingAtMost(1), do: func(w *world) {
		id := w.exec(`const all = Promise.allSettled([tools.again(), tools.b()]); await yield_control(); return (await all).map(r => r.value)`, codemode.ReasonPendingTools)
		w.entered("again")
		w.restart()
		w.open("again", "b")
		w.value(w.wait(id), `["through","through"]`)
	}},
	{name: "slots are free again after rejections", cfg: pendingAtMost(1), do: func(w *world) {
		w.value(exec(w.h, `for (let i = 0; i < 5; i++) await tools.broken().catch(() => {}); return (await tools.echo({n: 1})).n`), `1`)
	}},
}

// abortCases: everything can be ended at any moment.
var abortCases = []lifecycleCase{
	{name: "a computing program", cfg: func(c *host.Config) { c.Settings.Timeout = time.Minute }, do: func(w *world) {
		ctx, cancel := context.WithCancel(context.Background())
		done := w.background(func() *host.Result { return w.h.Exec(ctx, me, host.ExecInput{Code: `await tools.a(); for (;;);`}) })
		w.entered("a")
		w.open("a")
		cancel()
		w.failed(<-done, codemode.CodeAborted, "")
	}},
	{name: "a program that waits for a tool", do: func(w *world) {
		done := w.background(func() *host.Result { return exec(w.h, `return await tools.a()`) })
		w.entered("a")
		w.failed(w.h.Abort(context.Background(), me, w.runs()[0].ID), codemode.CodeAborted, "")
		w.failed(<-done, codemode.CodeAborted, "")
		w.cancelled("a")
	}},
	{name: "a program that tries to catch it", do: func(w *world) {
		done := w.background(func() *host.Result {
			return exec(w.h, `for (;;) try { await tools.a() } catch { text("caught") }`)
		})
		w.entered("a")
		w.failed(w.h.Abort(context.Background(), me, w.runs()[0].ID), codemode.CodeAborted, "")
		r := <-done
		w.failed(r, codemode.CodeAborted, "")
		w.output(r)
		w.cancelled("a")
	}},
	{name: "a suspended run", do: func(w *world) {
		id := w.exec(`tools.a(); await yield_control()`, codemode.ReasonPendingTools)
		w.entered("a")
		w.failed(w.h.Abort(context.Background(), me, id), codemode.CodeAborted, "")
		w.is(w.cancelled("a") == host.ErrAborted, "the call was cancelled for another cause")
		w.gone(id)
	}},
	{name: "a suspended run of another process", do: func(w *world) {
		id := w.exec(`await yield_control()`, codemode.ReasonYield)
		w.restart()
		w.failed(w.h.Abort(context.Background(), me, id), codemode.CodeAborted, "")
		w.gone(id)
	}},
	{name: "a run that is being resumed", do: func(w *world) {
		id := w.exec(`await yield_control(); await tools.a()`, codemode.ReasonYield)
		done := w.background(func() *host.Result { return w.wait(id) })
		w.entered("a")
		w.failed(w.h.Abort(context.Background(), me, id), codemode.CodeAborted, "")
		w.failed(<-done, codemode.CodeAborted, "")
		w.gone(id)
	}},
	{name: "twice", do: func(w *world) {
		id := w.exec(`await yield_control()`, codemode.ReasonYield)
		w.failed(w.h.Abort(context.Background(), me, id), codemode.CodeAborted, "")
		w.failed(w.h.Abort(context.Background(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable)
	}},
	{name: "by another session", do: func(w *world) {
		id := w.exec(`await yield_control(); return 1`, codemode.ReasonYield)
		w.failed(w.h.Abort(context.Background(), host.Session{}, id), codemode.CodeInvalidInput, codemode.ReasonWrongSession)
		w.value(w.wait(id), `1`)
	}},
	{name: "aborts that meet waits", do: func(w *world) {
		for i := range 20 {
			id := w.exec(`for (;;) await yield_control()`, codemode.ReasonYield)
			done := w.background(func() *host.Result {
				for {
					if r := w.wait(id); r.Status == host.StatusFailed && r.Reason != codemode.ReasonRunBusy {
						return r
					}
				}
			})
			w.failed(w.h.Abort(context.Background(), me, id), codemode.CodeAborted, "")
			if r := <-done; r.Code != codemode.CodeAborted && r.Reason != codemode.ReasonRunUnavailable {
				w.Fatalf("%d: got %s", i, show(r))
			}
			w.gone(id)
		}
	}},
	{name: "the end of a session", do: func(w *world) {
		parked := w.exec(`tools.a(); await yield_control()`, codemode.ReasonPendingTools)
		done := w.background(func() *host.Result { return exec(w.h, `return await tools.b()`) })
		w.entered("a", "b")
		n, err := w.h.EndSession(context.Background(), host.Session{AgentID: me.AgentID, SessionKey: me.SessionKey, SessionID: me.SessionID})
		w.is(n == 2 && err == nil, "%d ended, %v", n, err)
		w.failed(<-done, codemode.CodeAborted, "")
		w.is(w.cancelled("a", "b") == host.ErrSessionEnded, "the calls were cancelled for another cause")
		w.gone(parked)
	}},
	{name: "the end of a session in another process", do: func(w *world) {
		id := w.exec(`await yield_control()`, codemode.ReasonYield)
		w.restart()
		n, err := w.h.EndSession(context.Background(), me)
		w.is(n == 1 && err == nil, "%d ended, %v", n, err)
		w.gone(id)
	}},
	{name: "the end of another session", do: func(w *world) {
		id := w.exec(`await yield_control(); return 1`, codemode.ReasonYield)
		n, err := w.h.EndSession(context.Background(), host.Session{SessionID: "x"})
		w.is(n == 0 && err == nil, "%d ended, %v", n, err)
		w.value(w.wait(id), `1`)
	}},
	{name: "the host closes", do: func(w *world) {
		done := w.background(func() *host.Result { return exec(w.h, `return await tools.a()`) })
		w.entered("a")
		w.restart()
		w.failed(<-done, codemode.CodeAborted, "")
	}},
}

func shortLived(c *host.Config) { c.Settings.SnapshotTTL = time.Second }

// expiryCases: a suspended run is forgotten some time after its last use.
var expiryCases = []lifecycleCase{
	{name: "calls are cancelled", cfg: shortLived, do: func(w *world) {
		id := w.exec(`tools.a(); await yield_control()`, codemode.ReasonPendingTools)
		w.cancelled("a")
		w.gone(id)
		w.ended(id)
	}},
	{name: "the record goes", cfg: shortLived, do: func(w *world) {
		w.ended(w.exec(`await yield_control()`, codemode.ReasonYield))
		list, err := w.cfg.Store.List(context.Background())
		w.is(err == nil && len(list) == 0, "the store has %d records, %v", len(list), err)
	}},
	{name: "a place is free again", cfg: func(c *host.Config) { shortLived(c); c.Settings.MaxSuspended = 1 }, do: func(w *world) {
		w.ended(w.exec(`await yield_control()`, codemode.ReasonYield))
		id := w.exec(`await yield_control(); return 1`, codemode.ReasonYield)
		if r := w.wait(id); r.Status != host.StatusCompleted {
			w.gone(id)
		}
	}},
	{name: "a run that is being resumed does not expire", do: func(w *world) {
		id := w.exec(`await yield_control(); return await tools.a()`, codemode.ReasonYield)
		done := w.background(func() *host.Result { return w.wait(id) })
		w.entered("a")
		w.h.Engine().Expire(id)
		w.open("a")
		w.value(<-done, `"through"`)
	}},
	{name: "expiry that meets waits", cfg: shortLived, do: func(w *world) {
		var ids []string
		for range 8 {
			ids = append(ids, w.exec(`for (;;) await yield_control()`, codemode.ReasonYield))
		}
		results := make(chan *host.Result)
		for _, id := range ids {
			go func() {
				for range 30 {
					if r := w.wait(id); r.Status == host.StatusFailed {
						results <- r
						return
					}
				}
				w.ended(id) // no session comes back
				results <- w.wait(id)
			}()
		}
		for range ids {
			r := <-results
			w.is(r.Reason == codemode.ReasonRunUnavailable || r.Reason == codemode.ReasonRunExpired, "got %s", show(r))
		}
	}},
}

// restartCases: a run outlives its host, however that ends.
var restartCases = []lifecycleCase{
	{name: "a yield", do: func(w *world) {
		id := w.exec(`const m = new Map([[1, 2]]); await yield_control(); return [...m]`, codemode.ReasonYield)
		w.restart()
		w.value(w.wait(id), `[[1,2]]`)
	}},
	{name: "counts go on", do: func(w *world) {
		id := w.exec(`await tools.echo({}); await tools.search("x"); await yield_control(); await tools.echo({}); return 1`, codemode.ReasonYield)
		w.restart()
		r := w.wait(id)
		w.value(r, `1`)
		w.is(r.Telemetry.CallCount == 2 && r.Telemetry.SearchCount == 1, "telemetry %+v", r.Telemetry)
	}},
	{name: "the isolation is that of the last worker", do: func(w *world) {
		r := w.h.Exec(context.Background(), me, host.ExecInput{Code: `return await tools.again()`, Wait: soon})
		id := w.waiting(r, codemode.ReasonPendingTools)
		w.restart()
		later := w.waitSoon(id) // no worker was needed
		w.waiting(later, codemode.ReasonPendingTools)
		w.is(later.Telemetry.Isolation.Tier == r.Telemetry.Isolation.Tier && len(later.Telemetry.Isolation.Layers) > 5, "telemetry %+v", later.Telemetry)
		w.open("again")
		w.value(w.wait(id), `"through"`)
	}},
	{name: "an answer that came before", do: func(w *world) {
		id := w.exec(`const p = tools.a(); await yield_control(); return await p`, codemode.ReasonPendingTools)
		w.entered("a")
		w.open("a")
		w.eventually(func() bool {
			rec, err := w.cfg.Store.Get(context.Background(), id)
			if err != nil {
				w.Fatal(err)
			}
			return rec.Calls[0].State == "settled"
		})
		w.restart()
		w.value(w.wait(id), `"through"`)
		w.is(w.calls("a") == 0, "the call was made twice")
	}},
	{name: "a call in flight is unknown", do: func(w *world) {
		id := w.exec(`const p = tools.a(); await yield_control(); try { await p } catch (e) { return [e.effectStatus, e.toolId] }`, codemode.ReasonPendingTools)
		w.entered("a")
		w.crash()
		w.value(w.wait(id), `["unknown","quoin:core:a"]`)
		w.is(w.calls("a") == 0, "the call was made twice")
	}},
	{name: "a read-only call in flight is made again", do: func(w *world) {
		id := w.exec(`const p = tools.safe(); await yield_control(); return await p`, codemode.ReasonPendingTools)
		w.entered("safe")
		w.crash()
		w.open("safe")
		w.value(w.wait(id), `"through"`)
	}},
	{name: "an idempotent call in flight is made again with its key", do: func(w *world) {
		id := w.exec(`const p = tools.again(); await yield_control(); return await p`, codemode.ReasonPendingTools)
		key := w.entered("again").IdempotencyKey
		w.crash()
		w.open("again")
		w.value(w.wait(id), `"through"`)
		w.is(w.entered("again").IdempotencyKey == key, "another key")
	}},
	{name: "a call of a resumed program in flight", do: func(w *world) {
		id := w.exec(`await yield_control(); text("resumed"); try { await tools.a() } catch (e) { return e.effectStatus }`, codemode.ReasonYield)
		done := w.background(func() *host.Result { return w.wait(id) })
		w.entered("a")
		old := w.gates["a"]
		w.crash()
		r := w.wait(id)
		w.value(r, `"unknown"`)
		w.output(r, "resumed")
		close(old.open)
		w.value(<-done, `null`)
	}},
	{name: "answers of a resumed program", do: func(w *world) {
		id := w.exec(`await yield_control(); const x = await tools.a(); text(x); return [x, await tools.safe()]`, codemode.ReasonYield)
		done := w.background(func() *host.Result { return w.wait(id) })
		w.entered("a")
		w.open("a")
		w.entered("safe")
		old := w.gates["safe"]
		w.crash()
		w.open("safe")
		r := w.wait(id)
		w.value(r, `["through","through"]`)
		w.output(r, "through")
		w.is(w.calls("a") == 0, "the call was made twice")
		close(old.open)
		w.value(<-done, `["through","through"]`)
	}},
	{name: "a program that computes after it was resumed", do: func(w *world) {
		id := w.exec(`await yield_control(); const x = await tools.a(); await tools.search("x"); return x`, codemode.ReasonYield)
		done := w.background(func() *host.Result { return w.wait(id) })
		w.entered("a")
		w.open("a")
		w.value(<-done, `"through"`)
		w.gone(id)
	}},
	{name: "crashes one after the other", do: func(w *world) {
		id := w.exec(`await yield_control(); for (let i = 0; i < 3; i++) { await tools.again(); text("" + i) } return 1`, codemode.ReasonYield)
		for range 3 {
			done := w.background(func() *host.Result { return w.wait(id) })
			w.entered("again")
			old := w.gates["again"]
			w.crash()
			close(old.open)
			<-done
		}
		w.open("again")
		r := w.wait(id)
		w.value(r, `1`)
		w.output(r, "0", "1", "2")
	}},
	{name: "a tool that is gone", do: func(w *world) {
		id := w.exec(`await yield_control(); try { await tools.call("broken", {}) } catch (e) { return [e.code, e.message.includes("changed since this run was suspended")] }`, codemode.ReasonYield)
		w.cfg.Tools = w.cfg.Tools[:len(w.cfg.Tools)-1]
		w.restart()
		w.value(w.wait(id), `["catalog_changed",true]`)
	}},
	{name: "a tool in flight that is gone", do: func(w *world) {
		w.cfg.Tools = append(w.cfg.Tools, w.gates["again"].tool("leaving"))
		w.restart()
		w.cfg.Tools[len(w.cfg.Tools)-1] = w.gates["again"].tool("leaving")
		w.restart()
		id := w.execSoon(`try { await tools.leaving() } catch (e) { return e.effectStatus }`)
		w.cfg.Tools = w.cfg.Tools[:len(w.cfg.Tools)-1]
		w.crash()
		w.value(w.wait(id), `"unknown"`)
	}},
	{name: "a timer", do: func(w *world) {
		id := w.exec(`const bell = new Promise(d => setTimeout(d, 30, "rang")); await yield_control(); return await bell`, codemode.ReasonYield)
		w.restart()
		w.value(w.wait(id), `"rang"`)
	}},
	{name: "two hosts never have one run", do: func(w *world) {
		id := w.exec(`await yield_control(); return await tools.a()`, codemode.ReasonYield)
		done := w.background(func() *host.Result { return w.wait(id) })
		w.entered("a")
		other := start(w.T, w.cfg)
		w.failed(other.WaitFor(context.Background(), me, id, soon), codemode.CodeInvalidInput, codemode.ReasonRunBusy)
		w.open("a")
		w.value(<-done, `"through"`)
		w.failed(other.Wait(context.Background(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable)
	}},
}

func small(policy codemode.OutputPolicy) func(*host.Config) {
	return func(c *host.Config) { c.Settings.MaxOutput, c.Settings.OnOutputLimit = 1<<10, policy }
}

// outputCases: what a result carries when there is too much.
var outputCases = []lifecycleCase{
	{name: "a value that is too large fails and shows its beginning", cfg: small(codemode.OutputFail), do: func(w *world) {
		r := exec(w.h, `return "é".repeat(1000)`)
		w.failed(r, codemode.CodeOutputLimit, "")
		w.is(len(r.Output) == 1 && len(r.Output[0].Text()) > 900, "got %s", show(r))
		shown := len(r.Output[0].Text())
		w.is(strings.Contains(r.Error, strconv.Itoa(2002-shown)+" bytes"), "error %q, %d shown of 2002", r.Error, shown)
	}},
	{name: "a value that is too large is there for the next program", cfg: small(codemode.OutputFail), do: func(w *world) {
		r := exec(w.h, `return {items: Array.from({length: 500}, (_, i) => ({id: i})), n: 1}`)
		w.failed(r, codemode.CodeOutputLimit, "")
		w.is(strings.Contains(r.Error, `KB in 500 items`), "the error does not say where the bytes are: %s", r.Error)
		expression := keptIn(w, r.Error)
		w.value(exec(w.h, "return "+expression+".items.filter((i) => i.id > 497)"), `[{"id":498},{"id":499}]`)
		other := w.h.Exec(context.Background(), host.Session{SessionID: "another"}, host.ExecInput{Code: "return " + expression})
		w.failed(other, codemode.CodeInternal, codemode.ReasonGuestException)
	}},
	{name: "output that is too large fails and shows its beginning", cfg: small(codemode.OutputFail), do: func(w *world) {
		r := exec(w.h, `text("first"); text("\u{1F600}".repeat(1000)); text("last"); return 1`)
		w.failed(r, codemode.CodeOutputLimit, "")
		w.is(len(r.Output) == 2 && r.Output[0].Text() == "first" && len(r.Output[1].Text()) > 800, "got %s", show(r))
	}},
	{name: "json that is too large shows its beginning", cfg: small(codemode.OutputFail), do: func(w *world) {
		r := exec(w.h, `json(Array.from({length: 1000}, (_, i) => i))`)
		w.failed(r, codemode.CodeOutputLimit, "")
		w.is(len(r.Output) == 1 && strings.Contains(r.Output[0].Text(), "[0,1,2,"), "got %s", show(r))
	}},
	{name: "a value that is too large is truncated", cfg: small(codemode.OutputTruncate), do: func(w *world) {
		r := exec(w.h, `return {id: 7, body: "\\\"".repeat(1000), tags: ["a", "b"]}`)
		w.is(r.Status == host.StatusCompleted && len(r.Value) <= 1<<10, "got %s", show(r))
		var m struct {
			Truncated    bool
			OmittedBytes int
			Guidance     string
			Value        struct {
				ID   int
				Body string
				Tags []string
			}
		}
		if err := json.Unmarshal(r.Value, &m); err != nil {
			w.Fatal(err)
		}
		w.is(m.Truncated && m.OmittedBytes > 3000 && m.Value.ID == 7 && len(m.Value.Body) > 100 && len(m.Value.Tags) == 2, "marker %+v", m)
		w.value(exec(w.h, "return "+keptIn(w, m.Guidance)+".body.length"), "2000")
	}},
	{name: "output that is too large leaves the value alone", cfg: small(codemode.OutputTruncate), do: func(w *world) {
		r := exec(w.h, `text("x".repeat(5000)); return {n: 1}`)
		w.value(r, `{"n":1}`)
		last := string(r.Output[len(r.Output)-1].Value)
		w.is(len(r.Output) == 2 && strings.Contains(last, `"truncated":true`), "got %s", show(r))
	}},
	{name: "a waiting result says that output is missing", cfg: small(codemode.OutputTruncate), do: func(w *world) {
		r := exec(w.h, `text("x".repeat(5000)); await yield_control(); text("y"); return 1`)
		id := w.waiting(r, codemode.ReasonYield)
		w.is(strings.Contains(string(r.Output[len(r.Output)-1].Value), `"truncated":true`), "got %s", show(r))
		r = w.wait(id)
		w.value(r, `1`)
		w.output(r, "y")
	}},
	{name: "each result has the whole budget", cfg: small(codemode.OutputFail), do: func(w *world) {
		r := exec(w.h, `for (let i = 0; i < 5; i++) { text("x".repeat(900)); await yield_control() } return 1`)
		for r.Status == host.StatusWaiting {
			w.is(len(r.Output) == 1, "got %s", show(r))
			r = w.wait(r.RunID)
		}
		w.value(r, `1`)
	}},
	{name: "an error is bounded", do: func(w *world) {
		r := exec(w.h, `throw new Error("é".repeat(100000))`)
		w.failed(r, codemode.CodeInternal, codemode.ReasonGuestException)
		w.is(len(r.Error) <= 8<<10, "%d bytes", len(r.Error))
	}},
	{name: "output before a failure is kept", do: func(w *world) {
		r := exec(w.h, `text("before"); throw new Error("no")`)
		w.failed(r, codemode.CodeInternal, codemode.ReasonGuestException)
		w.output(r, "before")
	}},
}

// keptIn finds the expression by which a program gets a value that was too large.
func keptIn(w *world, message string) string {
	w.Helper()
	found := regexp.MustCompile(`JSON\.parse\(\(await API\.read\("kept/\d+\.json"\)\)\.content\)`).FindString(message)
	if found == "" {
		w.Fatalf("%q does not say how to get the value", message)
	}
	return found
}
