package soak_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/hostile"
)

// actor runs cells, one after the other, in a session of its own.
type actor struct {
	h        *host.Host
	session  host.Session
	rng      *rand.Rand
	programs []hostile.Program
	gate     *gate
	n        int // cells so far
	struck   int // cells that were killed with their worker, and run again
}

// act is one kind of cell. It returns what is wrong, or "".
type act func(*actor) string

// acts are the kinds of cells, as often as they are listed.
var acts = []act{
	(*actor).compute, (*actor).compute, (*actor).typescript,
	(*actor).call, (*actor).call, (*actor).search,
	(*actor).issues, (*actor).issues,
	(*actor).yield, (*actor).yield, (*actor).nap, (*actor).nap, (*actor).sleep,
	(*actor).abandon, (*actor).abort,
	(*actor).attack, (*actor).attack, (*actor).attack,
	(*actor).rude,
}

// good are the acts with a result that is always the same.
var good = []act{
	(*actor).compute, (*actor).typescript, (*actor).call, (*actor).search, (*actor).issues,
	(*actor).yield, (*actor).nap, (*actor).sleep,
}

func (a *actor) compute() string {
	return a.want(host.ExecInput{Code: `let n = 0; for (let i = 1; i <= 5000; i++) n += i; return { n, s: "é".repeat(3) }`}, `{"n":12502500,"s":"ééé"}`)
}

func (a *actor) typescript() string {
	return a.want(host.ExecInput{Language: "typescript", Code: `enum E { A = 3 } const f = <T,>(x: T): T[] => [x]; return f<number>(E.A)`}, `[3]`)
}

func (a *actor) call() string {
	code := fmt.Sprintf(`const all = await Promise.all(Array.from({ length: 20 }, (_, i) => tools.echo({ i: i + %d })));
return all.reduce((n, x) => n + x.i, 0)`, a.n)
	return a.want(host.ExecInput{Code: code}, fmt.Sprint(190+20*a.n))
}

func (a *actor) search() string {
	return a.want(host.ExecInput{Code: `const [t] = await tools.search("issues_list", { limit: 1 }); return [t.id, ALL_TOOLS.some((x) => x.name === "nap")]`},
		`["quoin:issues:issues_list",true]`)
}

// issues writes through a plugin that is killed now and then.
func (a *actor) issues() string {
	title := fmt.Sprintf("%s-%d", a.session.SessionID, a.n)
	code := fmt.Sprintf(`for (;;) {
	try {
		const { id } = await Issues.create({ title: %q });
		return (await Issues.get(id)).title ?? "no title";
	} catch (e) {
		if (!/^plugin_/.test(e.code)) throw e;
		await new Promise((r) => setTimeout(r, 20));
	}
}`, title)
	return a.want(host.ExecInput{Code: code}, fmt.Sprintf("%q", title))
}

func (a *actor) yield() string {
	return a.want(host.ExecInput{Code: `const kept = Array.from({ length: 1000 }, (_, i) => i); await yield_control("halfway"); await yield_control(); return kept.reduce((x, y) => x + y)`}, `499500`)
}

// nap suspends at its deadline: the tool answers while the guest is stored.
func (a *actor) nap() string {
	ms := 150 + a.rng.IntN(200)
	return a.want(host.ExecInput{Code: fmt.Sprintf(`return await tools.nap({ ms: %d })`, ms), Wait: 100 * time.Millisecond}, fmt.Sprintf(`"rested %d"`, ms))
}

func (a *actor) sleep() string {
	return a.want(host.ExecInput{Code: `const at = []; setTimeout(() => at.push(1), 30); await new Promise((r) => setTimeout(r, 60)); return at`}, `[1]`)
}

// abandon suspends a run and forgets it.
func (a *actor) abandon() string {
	r := a.h.Exec(context.Background(), a.session, host.ExecInput{Code: `tools.nap({ ms: 60000 }); await yield_control()`})
	if r.Status != host.StatusWaiting {
		return unlessStruck(r)
	}
	if r = a.h.Abort(context.Background(), a.session, r.RunID); r.Code != codemode.CodeAborted {
		return show(r)
	}
	return ""
}

// abort cancels a cell that spins.
func (a *actor) abort() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+a.rng.IntN(60))*time.Millisecond)
	defer cancel()
	r := a.h.Exec(ctx, a.session, host.ExecInput{Code: `for (;;);`})
	if r.Code != codemode.CodeAborted {
		return unlessStruck(r)
	}
	return ""
}

// attack runs a hostile program under a short deadline.
func (a *actor) attack() string {
	p := a.programs[a.rng.IntN(len(a.programs))]
	r := a.h.Exec(context.Background(), a.session, host.ExecInput{Code: p.Source, Language: p.Language, Timeout: 200 * time.Millisecond, Wait: 200 * time.Millisecond})
	code := string(r.Status)
	switch r.Status {
	case host.StatusWaiting:
		a.h.Abort(context.Background(), a.session, r.RunID)
	case host.StatusFailed:
		code = string(r.Code)
	}
	// This host has neither the memory limits nor the tools that the program's
	// value depends on; that it ends well is what counts here.
	switch {
	case struck(r):
		return struckMark
	case r.Reason == codemode.ReasonWorkerCrashed, r.Reason == codemode.ReasonSandboxViolation, r.Code == codemode.CodeUnavailable, r.Code == codemode.CodeAborted:
		return fmt.Sprintf("%s: %s", p, show(r))
	case code == "completed" && !p.MayEnd("completed"):
		return fmt.Sprintf("%s: %s", p, show(r))
	}
	return ""
}

// rude makes a plugin misbehave. It may fail the cell, and nothing else.
func (a *actor) rude() string {
	verbs := []string{`Rude.fail({ code: "broke" })`, `Rude.panic()`, `Rude.huge({ megabytes: 20 })`, `Rude.garbage()`, `Rude.floodLogs({ count: 2000 })`, `Rude.floodProgress({ count: 2000 })`, `Rude.hang({ obey: true })`}
	if a.gate.open(time.Now()) {
		verbs = []string{`Rude.crash({ how: "kill" })`}
	}
	code := `await ` + verbs[a.rng.IntN(len(verbs))]
	r := a.h.Exec(context.Background(), a.session, host.ExecInput{Code: code, Wait: 500 * time.Millisecond})
	switch {
	case r.Status == host.StatusWaiting:
		a.h.Abort(context.Background(), a.session, r.RunID)
	case r.Status == host.StatusFailed && r.Reason != codemode.ReasonNestedTool && r.Reason != codemode.ReasonGuestException && r.Code != codemode.CodeTimeout:
		return unlessStruck(r)
	}
	return ""
}

// want runs a cell to its end and compares its value. A cell that is killed with
// its worker is run again, and so is one with a short deadline that the load of the
// machine kept from going idle in time.
func (a *actor) want(in host.ExecInput, value string) string {
	var r *host.Result
	for range maxTries {
		r = a.h.Exec(context.Background(), a.session, in)
		for id := ""; r.Status == host.StatusWaiting || r.Reason == codemode.ReasonRunBusy; { // it outlives its worker once
			id = cmp.Or(r.RunID, id)
			r = a.h.Wait(context.Background(), a.session, id)
		}
		switch {
		case r.Status == host.StatusCompleted && string(r.Value) == value:
			return ""
		case struck(r):
			a.struck++
		case in.Timeout == 0 || r.Code != codemode.CodeTimeout:
			return fmt.Sprintf("%s\nwant %s", show(r), value)
		}
	}
	return fmt.Sprintf("after %d tries: %s\nwant %s", maxTries, show(r), value)
}

const maxTries = 50

// struckMark stands for a cell that was killed with its worker.
const struckMark = "struck"

func unlessStruck(r *host.Result) string {
	if struck(r) {
		return struckMark
	}
	return show(r)
}

// struck reports whether the cell's worker was killed: while it ran, or before it
// was ready, or just when the host wanted to look at it.
func struck(r *host.Result) bool {
	return r.Reason == codemode.ReasonWorkerCrashed && strings.Contains(r.Error, "killed by signal 9") ||
		r.Code == codemode.CodeUnavailable && strings.Contains(r.Error, "guest worker")
}
