package chaos_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/internal/history"
)

const (
	// maxOpen is how many suspended runs a client has at a time.
	maxOpen = 5
	// patience is how long a client waits for an answer of a host, which may stand still.
	patience = 2 * time.Second
	// backOff is how long a client waits after a refusal.
	backOff = 50 * time.Millisecond
)

// prologue counts what a program is told of its calls.
const prologue = `
const answered = [], none = [];
let unknown = 0;
async function call(make) {
  try { answered.push(await make()) } catch (e) {
    if (e.effectStatus === "unknown") unknown++; else none.push(String(e.effectStatus) + " " + String(e.message));
  }
}
`

const epilogue = `
return { answered, unknown, none };`

// programs are what clients run. Every one is suspended at least once.
var programs = []string{
	`await call(() => Ledger.add());
	await yield_control();
	await call(() => Ledger.add(0, 5));
	await yield_control();
	await call(() => Ledger.add());`,
	`await yield_control();
	await Promise.all([1, 2, 3].map(n => call(() => Ledger.add(n, 3 - n))));
	await yield_control();
	await call(() => Ledger.put());`,
	`await call(() => Ledger.add(200, 300));
	await call(() => Ledger.put(100, 200));
	await yield_control();
	await call(() => Ledger.add());`,
	`await new Promise(done => setTimeout(done, 400));
	await call(() => Ledger.add());
	await new Promise(done => setTimeout(done, 400));
	await call(() => Ledger.add(10, 10));`,
}

// shortPrograms are most of what clients run: there shall be many runs.
var shortPrograms = []string{
	`await yield_control();
	await call(() => Ledger.add());`,
	`await call(() => Ledger.add());
	await yield_control();`,
}

// program is one of them.
func (u *user) program() string {
	from := programs
	if u.rng.IntN(4) > 0 {
		from = shortPrograms
	}
	return prologue + from[u.rng.IntN(len(from))] + epilogue
}

// told is the value of a program.
type told struct {
	Answered []string `json:"answered"`
	Unknown  int      `json:"unknown"`
	None     []string `json:"none"`
}

// user is a client. It asks one thing at a time.
type user struct {
	w       *world
	session host.Session
	rng     *rand.Rand
	hosts   []*member // that it asks
	open    []string
}

// tally is what all clients together have seen.
type tally struct {
	sync.Mutex
	refused map[string]int // by reason
	none    map[string]int // what programs were told of calls that took no effect
	waits   []answeredWait
	ended   int // runs that completed before they were suspended
}

// answeredWait is a wait for a run that a host answered, whatever it said.
type answeredWait struct {
	run, host  string // the host that was asked
	start, end time.Time
}

func (t *tally) refuse(what string) {
	t.Lock()
	defer t.Unlock()
	t.refused[what]++
}

// work keeps runs going until ctx ends.
func (u *user) work(ctx context.Context) {
	for ctx.Err() == nil {
		m := u.anyHost()
		c := m.host()
		switch {
		case c == nil:
			rest(ctx, backOff)
		case len(u.open) < maxOpen && u.rng.IntN(2) == 0:
			if !u.exec(c, u.program()) {
				rest(ctx, backOff)
			}
		case len(u.open) > 0:
			if !u.wait(m.name, c, u.open[u.rng.IntN(len(u.open))]) {
				rest(ctx, backOff)
			}
		}
	}
}

// finish waits for every run that is open, on any host, until ctx ends.
func (u *user) finish(ctx context.Context) {
	for len(u.open) > 0 && ctx.Err() == nil {
		m := u.anyHost()
		if c := m.host(); c == nil || !u.wait(m.name, c, u.open[u.rng.IntN(len(u.open))]) {
			rest(ctx, backOff)
		}
	}
}

func (u *user) anyHost() *member { return u.hosts[u.rng.IntN(len(u.hosts))] }

// exec runs a program and reports whether the host took it.
func (u *user) exec(c *client.Client, program string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := c.Exec(ctx, u.session, host.ExecInput{Code: program, Wait: 100 * time.Millisecond})
	switch {
	case err != nil:
		u.w.tally.refuse("exec: " + firstWords(err.Error()))
		return false
	case r.Status == host.StatusWaiting:
		u.w.rec.Record(history.Event{Kind: history.Suspended, Run: r.RunID})
		u.open = append(u.open, r.RunID)
	case r.Status == host.StatusCompleted:
		u.w.tally.Lock()
		u.w.tally.ended++
		u.w.tally.Unlock()
	default:
		u.w.tally.refuse("exec: " + cmp.Or(string(r.Reason), string(r.Code)))
		return false
	}
	return true
}

// again are reasons why a run does not continue now, and may later.
var again = []codemode.Reason{codemode.ReasonRunBusy, codemode.ReasonStoreFailed, codemode.ReasonEngineUnavailable, codemode.ReasonToolsMissing, codemode.ReasonTooManySuspended, codemode.ReasonQuota}

// wait asks a host for a run and reports whether that changed anything.
func (u *user) wait(name string, c *client.Client, id string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	start := time.Now()
	r, err := c.Wait(ctx, u.session, id)
	if err != nil {
		u.w.rec.Record(history.Event{Kind: history.Unanswered, Run: id, Note: err.Error()})
		u.w.tally.refuse("wait: " + firstWords(err.Error()))
		return false
	}
	u.w.tally.Lock()
	u.w.tally.waits = append(u.w.tally.waits, answeredWait{id, name, start, time.Now()})
	u.w.tally.Unlock()
	switch {
	case r.Status == host.StatusWaiting:
		return true
	case r.Status == host.StatusFailed && (slices.Contains(again, r.Reason) || r.Code == codemode.CodeUnavailable):
		u.w.tally.refuse("wait: " + cmp.Or(string(r.Reason), string(r.Code)))
		return false
	case r.Status == host.StatusFailed && r.Reason == codemode.ReasonRunUnavailable:
		u.w.rec.Record(history.Event{Kind: history.Gone, Run: id, Note: r.Error})
	case r.Status == host.StatusFailed:
		u.w.rec.Record(history.Event{Kind: history.Failed, Run: id, Note: string(r.Reason) + ": " + r.Error})
	default:
		u.complete(id, r)
	}
	u.open = slices.DeleteFunc(u.open, func(s string) bool { return s == id })
	return true
}

func (u *user) complete(id string, r *host.Result) {
	var v told
	e := history.Event{Kind: history.Completed, Run: id, Result: string(r.Value)}
	if err := json.Unmarshal(r.Value, &v); err != nil {
		e.Kind, e.Note = history.Failed, err.Error()
	}
	e.Answered, e.Unknown, e.Note = v.Answered, v.Unknown, strings.Join(v.None, "; ")
	u.w.rec.Record(e)
	u.w.tally.Lock()
	defer u.w.tally.Unlock()
	for _, why := range v.None {
		u.w.tally.none[firstWords(why)]++
	}
}

func quantiles(all []time.Duration) string {
	of := func(q float64) time.Duration { return history.Quantile(all, q).Round(time.Millisecond) }
	return fmt.Sprintf("p50 %s, p99 %s, longest %s", of(0.5), of(0.99), of(1))
}

// firstWords is the start of a message without what differs from one to the next.
func firstWords(s string) string {
	if i := strings.LastIndex(s, ": "); i >= 0 && len(s)-i < 100 {
		s = s[i+2:]
	}
	return s[:min(len(s), 100)]
}

// String is the summary of a run.
func (t *tally) String() string {
	t.Lock()
	defer t.Unlock()
	var b strings.Builder
	var took []time.Duration
	for _, a := range t.waits {
		took = append(took, a.end.Sub(a.start))
	}
	fmt.Fprintf(&b, "waits answered: %d, %s\n", len(took), quantiles(took))
	for what, n := range t.refused {
		fmt.Fprintf(&b, "%6d %s\n", n, what)
	}
	for what, n := range t.none {
		fmt.Fprintf(&b, "%6d programs were told: %s\n", n, what)
	}
	return b.String()
}
