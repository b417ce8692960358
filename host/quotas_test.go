package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/hosttest"
)

var (
	mallory = host.Session{AgentID: "agent", SessionKey: "m", SessionID: "mallory", TurnID: "turn"}
	alice   = host.Session{AgentID: "agent", SessionKey: "a", SessionID: "alice", TurnID: "turn"}
)

// heap is what the process holds once everything unused has been given back.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestASmallPartKeepsNoLargeReport: what is kept of a report, an item of output or a
// call that waits, is a copy, so that the megabytes around it can go.
func TestASmallPartKeepsNoLargeReport(t *testing.T) {
	hosttest.Serial(t, "it measures the memory of the process")
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}})
	exec(h, `return 1`)
	before := heap()
	r := exec(h, `const b = "x".repeat(2 << 20);
for (let i = 0; i < 40; i++) { text("x"); await tools.call("nope", {a: b}).catch(() => {}) }
await yield_control();`)
	wantWaiting(t, r, codemode.ReasonYield)
	if len(r.Output) != 40 {
		t.Fatalf("%d items", len(r.Output))
	}
	if more := heap() - before; more > 16<<20 {
		t.Errorf("40 items of one letter keep %d bytes", more)
	}
	runtime.KeepAlive(r)
	h.Abort(context.Background(), me, r.RunID)
}

// TestHeldBytesAreBounded: mallory holds what her share allows and not more, whatever
// the bytes are of; the message names limit, settings and numbers; alice works on, and
// nothing is charged any more when the runs have ended.
func TestHeldBytesAreBounded(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	release := make(chan struct{})
	defer close(release)
	big := catalog.Tool{Name: "big", Description: "Answers as much as a reply may have.", ReadOnly: true, Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return json.RawMessage(`"` + strings.Repeat("x", 8*mib-2) + `"`), nil
	}}
	write := big
	write.Name, write.ReadOnly = "write", false
	for _, tc := range []struct {
		name, code string
		settings   host.Settings
		tools      []catalog.Tool // the caller's
		code1      codemode.Code
		want       string
	}{
		{name: "arguments", code: `await Promise.all(Array.from({length: 12}, () => tools.slow({a: "x".repeat(1 << 20)})))`, want: "quotas.heldBytes"},
		{name: "arguments that queue", code: `for (let i = 0; i < 12; i++) { tools.slow({a: "x".repeat(1 << 20)}); await tools.echo({}) }`, want: "quotas.heldBytes"},
		{name: "output", settings: host.Settings{MaxOutput: 10 * mib}, code: `for (let i = 0; i < 9; i++) { text("x".repeat(1 << 20)); await tools.echo({}) }`, want: "quotas.heldBytes"},
		{name: "answers", code: `const no = await tools.big({}).catch(e => e); throw new Error([no?.code, no?.effectStatus, no?.message])`, want: "quota_exceeded,none,"},
		{name: "answers of what has effects", code: `const no = await tools.write({}).catch(e => e); throw new Error([no?.code, no?.effectStatus, no?.message])`, want: "quota_exceeded,done,"},
		{name: "questions to the caller", tools: []catalog.Tool{{Name: "ask", Description: "Asks."}},
			code: `const p = Array.from({length: 6}, () => tools.ask({a: "x".repeat(1 << 20)})); const r = await Promise.race(p.map(x => x.catch(e => e))); text([r.code, r.effectStatus, r.message].join())`, want: "quota_exceeded,none,"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log lines
			tc.settings.Timeout = time.Minute // the machine may be busy
			config := host.Config{
				Logger: slog.New(slog.NewTextHandler(&log, nil)), Settings: tc.settings, Quotas: host.Quotas{HeldBytes: 16 * mib},
				Tools: []catalog.Tool{echo("echo"), slow("slow", release), big, write},
			}
			h := start(t, config.WithTimes(func(n *host.Times) { n.Runs.ClientGrace = 2 * soon })) // in which it asks all
			r := h.Exec(context.Background(), mallory, host.ExecInput{Code: tc.code, Tools: tc.tools})
			said := show(r)
			for _, want := range []string{tc.want, "8388608", "16777216", "quotas.sessionPercent: 50"} {
				if r.Status == host.StatusCompleted || !strings.Contains(said, want) {
					t.Errorf("no %q in %.300s … %s", want, said, said[max(0, len(said)-1500):])
				}
			}
			if r.Reason == codemode.ReasonQuota && (r.Code != codemode.CodeMemoryLimit || r.Phase != codemode.PhaseHost) {
				t.Errorf("%.500s", said)
			}
			wantValue(t, h.Exec(context.Background(), alice, host.ExecInput{Code: `return (await tools.echo({a: "x".repeat(1 << 20)})).a.length`}), fmt.Sprint(mib))
			if n := metricOf(t, h, "quoin_quota_denied_total", "held_bytes"); n < 1 {
				t.Errorf("the metric says %v", n)
			}
			if !strings.Contains(log.String(), "a quota is used up") || !strings.Contains(log.String(), "mallory") {
				t.Errorf("the log says %s", log.String())
			}
			if r.RunID != "" {
				h.Abort(context.Background(), mallory, r.RunID)
			}
			h.Engine().Quiet(t.Context())
			if left := h.Engine().Taken(); len(left) != 0 {
				t.Errorf("taken: %v", left)
			}
		})
	}
}

// TestSearchesAreBounded: what the host takes for searches counts as processor time of
// the run, and of one turn it takes so much and not more.
func TestSearchesAreBounded(t *testing.T) {
	t.Parallel()
	cfg := host.Config{Tools: []catalog.Tool{echo("echo")}, Settings: host.Settings{CPUBudget: time.Minute}}
	h := start(t, cfg)
	code := `const r = await Promise.allSettled(Array.from({length: 500}, (_, i) => tools.search("echo " + i)));
text(r.filter(x => x.status == "rejected").length + " " + (r[0].reason?.code ?? "answered") + " " + (r[0].reason?.message ?? "")); await yield_control()`
	r := exec(h, code)
	id := wantWaiting(t, r, codemode.ReasonYield)
	left, queries := h.Engine().LeftToRun(id)
	if guest := time.Duration(r.Telemetry.GuestCPUMillis * float64(time.Millisecond)); queries <= 0 || left > time.Minute-queries-guest+time.Millisecond {
		t.Errorf("of a minute %v are left after %v of searches and %v of the guest", left, queries, guest)
	}
	h.Abort(context.Background(), me, id)

	r = exec(start(t, cfg.WithTimes(func(n *host.Times) { n.Runs.QueryTime = 1 })), code)
	wantWaiting(t, r, codemode.ReasonYield)
	if said := r.Output[0].Text(); !strings.HasPrefix(said, "500 timeout ") || !strings.Contains(said, "smaller batches") {
		t.Error(said)
	}
}
