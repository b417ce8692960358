package host_test

import (
	"context"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
)

// drainCases: every bridge call is served inside the active exec or wait.
var drainCases = []lifecycleCase{
	{name: "one call", do: func(w *world) {
		w.value(exec(w.h, `return (await tools.echo({n: 1})).n`), `1`)
	}},
	{name: "calls one after the other", do: func(w *world) {
		w.value(exec(w.h, `let s = 0; for (let i = 0; i < 50; i++) s += (await tools.echo({n: i})).n; return s`), `1225`)
	}},
	{name: "calls side by side", do: func(w *world) {
		w.value(exec(w.h, `return (await Promise.all([1, 2, 3].map(n => tools.echo({n})))).map(r => r.n)`), `[1,2,3]`)
	}},
	{name: "search, describe and call in one turn", do: func(w *world) {
		w.value(exec(w.h, `const [s, d, c] = await Promise.all([tools.search("echo"), tools.describe("echo"), tools.echo({n: 1})]); return [s[0].name, d.name, c.n]`),
			`["echo","echo",1]`)
	}},
	{name: "answers in the order of their coming", do: func(w *world) {
		done := w.background(func() *host.Result {
			return exec(w.h, `const got = []; await Promise.all(["a", "b"].map(async n => { await tools[n](); got.push(n); if (n === "b") text("b") })); return got`)
		})
		w.entered("a", "b")
		w.open("b")
		w.open("a")
		r := <-done
		w.is(string(r.Value) == `["b","a"]` || string(r.Value) == `["a","b"]`, "got %s", show(r))
	}},
	{name: "a call nobody awaits is drained before completed", do: func(w *world) {
		done := w.background(func() *host.Result { return exec(w.h, `tools.a(); return 1`) })
		w.entered("a")
		w.is(len(w.runs()) == 1, "the run has ended")
		w.open("a")
		w.value(<-done, `1`)
	}},
	{name: "a call nobody awaits outlives the deadline", do: func(w *world) {
		id := w.execSoon(`tools.a(); return 1`)
		w.open("a")
		w.value(w.wait(id), `1`)
	}},
	{name: "what follows a call nobody awaits counts", do: func(w *world) {
		r := exec(w.h, `tools.echo({n: 1}).then(() => text("then")); return 1`)
		w.value(r, `1`)
		w.output(r, "then")
	}},
	{name: "a failed call nobody awaits fails the run", do: func(w *world) {
		w.failed(exec(w.h, `tools.broken(); return 1`), codemode.CodeInternal, codemode.ReasonNestedTool)
	}},
	{name: "a failed call somebody catches does not", do: func(w *world) {
		w.value(exec(w.h, `try { await tools.broken() } catch (e) { return e.message }`), `"it broke"`)
	}},
	{name: "a program that throws still drains its calls", do: func(w *world) {
		done := w.background(func() *host.Result { return exec(w.h, `tools.a(); throw new Error("no")`) })
		w.entered("a")
		w.open("a")
		w.failed(<-done, codemode.CodeInternal, codemode.ReasonGuestException)
	}},
	{name: "a timer goes off while a call is pending", do: func(w *world) {
		done := w.background(func() *host.Result {
			return exec(w.h, `const bell = new Promise(d => setTimeout(d, 5, "rang")); const call = tools.a(); text(await bell); return await call`)
		})
		w.entered("a")
		w.open("a")
		r := <-done
		w.value(r, `"through"`)
		w.output(r, "rang")
	}},
	{name: "a promise without host work fails", do: func(w *world) {
		w.failed(exec(w.h, `await tools.echo({}); await new Promise(() => {})`), codemode.CodeInternal, codemode.ReasonGuestException)
	}},
	{name: "a tool's panic is a rejection", cfg: func(c *host.Config) {
		c.Tools = append(c.Tools, panicking())
	}, do: func(w *world) {
		w.value(exec(w.h, `try { await tools.panics() } catch (e) { return [e.code, e.effectStatus] }`), `["tool_panic","unknown"]`)
	}},
}

// suspendCases: what makes an exec or wait return early, and what it says.
var suspendCases = []lifecycleCase{
	{name: "a yield", do: func(w *world) {
		id := w.exec(`await yield_control(); return 1`, codemode.ReasonYield)
		w.value(w.wait(id), `1`)
	}},
	{name: "a yield nobody awaits", do: func(w *world) {
		id := w.exec(`yield_control(); return 1`, codemode.ReasonYield)
		w.value(w.wait(id), `1`)
	}},
	{name: "a yield beside a call says pending_tools", do: func(w *world) {
		r := exec(w.h, `const p = tools.a(); await yield_control(); return await p`)
		id := w.waiting(r, codemode.ReasonPendingTools)
		w.is(len(r.PendingToolCalls) == 2, "pending %+v", r.PendingToolCalls)
		w.open("a")
		w.value(w.wait(id), `"through"`)
	}},
	{name: "two yields at once", do: func(w *world) {
		id := w.exec(`await Promise.all([yield_control(), yield_control()]); return 1`, codemode.ReasonYield)
		w.value(w.wait(id), `1`)
	}},
	{name: "yields one after the other keep the runId", do: func(w *world) {
		id := w.exec(`await yield_control(); await yield_control(); return 1`, codemode.ReasonYield)
		w.is(w.waiting(w.wait(id), codemode.ReasonYield) == id, "the runId changed")
		w.value(w.wait(id), `1`)
	}},
	{name: "the deadline while idle", do: func(w *world) {
		r := w.h.Exec(context.Background(), me, host.ExecInput{Code: `return await tools.a()`, Wait: soon})
		id := w.waiting(r, codemode.ReasonPendingTools)
		w.pending(r, "a")
		w.open("a")
		w.value(w.wait(id), `"through"`)
	}},
	{name: "the deadline while running fails", do: func(w *world) {
		w.failed(w.h.Exec(context.Background(), me, host.ExecInput{Code: `for (;;);`, Timeout: soon}), codemode.CodeTimeout, "")
	}},
	{name: "the shortest deadline while idle", do: func(w *world) {
		r := w.h.Exec(context.Background(), me, host.ExecInput{Code: `return await tools.a()`, Wait: 1})
		for r.Code == codemode.CodeTimeout { // the machine was busier than the cell was patient
			r = w.h.Exec(context.Background(), me, host.ExecInput{Code: `return await tools.a()`, Wait: 1})
		}
		w.waiting(r, codemode.ReasonPendingTools)
		w.open("a")
		w.value(w.wait(r.RunID), `"through"`)
	}},
	{name: "the deadline while only a timer is pending", do: func(w *world) {
		r := w.h.Exec(context.Background(), me, host.ExecInput{Code: `await new Promise(d => setTimeout(d, 2000)); return 1`, Wait: soon})
		id := w.waiting(r, codemode.ReasonTimer)
		w.is(len(r.PendingToolCalls) == 0, "pending %+v", r.PendingToolCalls)
		w.value(w.wait(id), `1`)
	}},
	{name: "a suspended run has no worker", cfg: func(c *host.Config) { c.Guests.Max = 1 }, do: func(w *world) {
		var ids []string
		for range 5 {
			ids = append(ids, w.exec(`await yield_control(); return 1`, codemode.ReasonYield))
		}
		for _, id := range ids {
			w.value(w.wait(id), `1`)
		}
		w.cfg.Guests.Max = 2
		w.restart()
	}},
	{name: "host work goes on while suspended", do: func(w *world) {
		id := w.exec(`const p = tools.a(); await yield_control(); return await p`, codemode.ReasonPendingTools)
		w.entered("a")
		w.open("a")
		w.value(w.wait(id), `"through"`)
	}},
	{name: "a shutdown", do: func(w *world) {
		done := w.background(func() *host.Result { return exec(w.h, `return await tools.again()`) })
		w.entered("again")
		if err := w.h.Shutdown(context.Background()); err != nil {
			w.Fatal(err)
		}
		id := w.waiting(<-done, codemode.ReasonPendingTools)
		w.renew()
		w.open("again")
		w.value(w.wait(id), `"through"`)
	}},
}

// waitCases: who may wait, and when.
var waitCases = []lifecycleCase{
	{name: "any call is enough", do: func(w *world) {
		id := w.execSoon(`const got = []; await Promise.all(["a", "b"].map(async n => { await tools[n](); text(n); await yield_control() }))`)
		w.open("b")
		r := w.wait(id)
		w.waiting(r, codemode.ReasonPendingTools)
		w.output(r, "b")
		w.pending(r, "a", "")
		w.open("a")
		r = w.wait(id)
		w.waiting(r, codemode.ReasonYield)
		w.output(r, "a")
		w.value(w.wait(id), `null`)
	}},
	{name: "nothing has settled", do: func(w *world) {
		id := w.execSoon(`return await tools.a()`)
		for range 2 {
			w.is(w.waiting(w.waitSoon(id), codemode.ReasonPendingTools) == id, "the runId changed")
		}
		w.open("a")
		w.value(w.wait(id), `"through"`)
	}},
	{name: "the answer comes while waiting", do: func(w *world) {
		id := w.execSoon(`return await tools.a()`)
		done := w.background(func() *host.Result { return w.wait(id) })
		w.open("a")
		w.value(<-done, `"through"`)
	}},
	{name: "another wait is busy", do: func(w *world) {
		id := w.exec(`await yield_control(); return await tools.a()`, codemode.ReasonYield)
		done := w.background(func() *host.Result { return w.wait(id) })
		w.entered("a")
		w.failed(w.wait(id), codemode.CodeInvalidInput, codemode.ReasonRunBusy)
		w.open("a")
		w.value(<-done, `"through"`)
	}},
	{name: "of many waits one has the run", do: func(w *world) {
		id := w.exec(`await yield_control(); return await tools.a()`, codemode.ReasonYield)
		const waits = 8
		results := make(chan *host.Result, waits)
		for range waits {
			go func() { results <- w.wait(id) }()
		}
		for range waits - 1 {
			w.failed(<-results, codemode.CodeInvalidInput, codemode.ReasonRunBusy)
		}
		w.open("a")
		w.value(<-results, `"through"`)
	}},
	{name: "waits that meet share nothing", do: func(w *world) {
		id := w.exec(`for (let i = 0; i < 20; i++) { text("" + i); await yield_control() } return 1`, codemode.ReasonYield)
		results := make(chan *host.Result)
		for range 4 {
			go func() {
				for {
					r := w.wait(id)
					results <- r
					if r.Status == host.StatusCompleted || r.Reason == codemode.ReasonRunUnavailable {
						return
					}
				}
			}()
		}
		over, completed, emitted := 0, 0, 1 // the first was in the result of exec
		for over < 4 {
			r := <-results
			emitted += len(r.Output)
			switch {
			case r.Status == host.StatusCompleted:
				completed++
				over++
			case r.Reason == codemode.ReasonRunUnavailable:
				over++
			}
		}
		w.is(completed == 1 && emitted == 20, "completed %d times with %d items", completed, emitted)
	}},
	{name: "a run that is still in its exec", do: func(w *world) {
		done := w.background(func() *host.Result { return exec(w.h, `return await tools.a()`) })
		w.entered("a")
		w.failed(w.wait(w.runs()[0].ID), codemode.CodeInvalidInput, codemode.ReasonRunBusy)
		w.open("a")
		w.value(<-done, `"through"`)
	}},
	{name: "a run that has ended", do: func(w *world) {
		id := w.exec(`await yield_control(); return 1`, codemode.ReasonYield)
		w.value(w.wait(id), `1`)
		w.gone(id)
	}},
	{name: "a run that has failed", do: func(w *world) {
		id := w.exec(`await yield_control(); throw new Error("no")`, codemode.ReasonYield)
		w.failed(w.wait(id), codemode.CodeInternal, codemode.ReasonGuestException)
		w.gone(id)
	}},
	{name: "another session", do: func(w *world) {
		id := w.exec(`await yield_control(); return 1`, codemode.ReasonYield)
		w.failed(w.h.Wait(context.Background(), host.Session{SessionID: "x"}, id), codemode.CodeInvalidInput, codemode.ReasonWrongSession)
		w.value(w.wait(id), `1`)
	}},
	{name: "another turn", do: func(w *world) {
		id := w.exec(`await yield_control(); return 1`, codemode.ReasonYield)
		other := me
		other.TurnID = "x"
		w.failed(w.h.Wait(context.Background(), other, id), codemode.CodeInvalidInput, codemode.ReasonWrongRun)
		w.value(w.wait(id), `1`)
	}},
	{name: "a caller that goes away aborts the run", do: func(w *world) {
		id := w.exec(`await yield_control(); return await tools.a()`, codemode.ReasonYield)
		ctx, cancel := context.WithCancel(context.Background())
		done := w.background(func() *host.Result { return w.h.Wait(ctx, me, id) })
		w.entered("a")
		cancel()
		w.failed(<-done, codemode.CodeAborted, "")
		w.cancelled("a")
		w.gone(id)
	}},
	{name: "output is what came since the last result", do: func(w *world) {
		r := exec(w.h, `text("1"); await yield_control(); text("2"); await yield_control(); text("3")`)
		w.output(r, "1")
		id := r.RunID
		w.output(w.wait(id), "2")
		w.output(w.wait(id), "3")
	}},
}
