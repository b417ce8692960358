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
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
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

// TestImagesAreCharged while they are in memory.
func TestImagesAreCharged(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		store runstore.Store
		holds bool
	}{{"memory", &runstore.Memory{}, true}, {"disk", nil, false}} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.store == nil {
				d, err := runstore.OpenDir(mkdir(t))
				if err != nil {
					t.Fatal(err)
				}
				tc.store = d
			}
			h := start(t, host.Config{Store: tc.store, Quotas: host.Quotas{HeldBytes: 16 << 20}})
			code := `const b = []; for (let i = 0; i < 3000; i++) b.push({i, s: String(Math.random())}); await yield_control(); return b.length`
			first := h.Exec(context.Background(), mallory, host.ExecInput{Code: code})
			id := wantWaiting(t, first, codemode.ReasonYield)
			if got := h.Engine().Taken()["bytes"]; (got >= int64(first.Telemetry.SnapshotBytes)) != tc.holds {
				t.Errorf("%d bytes are charged for an image of %d", got, first.Telemetry.SnapshotBytes)
			}
			wantValue(t, h.Wait(context.Background(), mallory, id), "3000")
			if left := h.Engine().Taken(); len(left) != 0 {
				t.Errorf("taken: %v", left)
			}
		})
	}
}

// TestMalloryTakesAllSheCan of everything that a host shares out, and alice works on.
func TestMalloryTakesAllSheCan(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	run := func(h *host.Host, s host.Session, code string) *host.Result {
		return h.Exec(ctx, s, host.ExecInput{Code: code})
	}
	t.Run("suspended runs", func(t *testing.T) {
		h := start(t, host.Config{Settings: host.Settings{MaxSuspended: 8}})
		for range 4 {
			wantWaiting(t, run(h, mallory, `await yield_control()`), codemode.ReasonYield)
		}
		r := run(h, mallory, `await yield_control()`)
		wantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonTooManySuspended, codemode.PhaseHost)
		for _, want := range []string{"this session has 4 suspended runs", "4 of the host's 8", "quotas.sessionPercent: 50", "tools.codeMode.maxSuspendedRuns"} {
			if !strings.Contains(r.Error, want) {
				t.Errorf("no %q in %s", want, r.Error)
			}
		}
		id := wantWaiting(t, run(h, alice, `await yield_control(); return 1`), codemode.ReasonYield)
		wantValue(t, h.Wait(ctx, alice, id), "1")
		if n, err := h.EndSession(ctx, mallory); n != 4 || err != nil {
			t.Fatal(n, err)
		}
		wantWaiting(t, run(h, mallory, `await yield_control()`), codemode.ReasonYield)
	})
	t.Run("agents", func(t *testing.T) {
		h := start(t, host.Config{Settings: host.Settings{MaxSuspended: 8}, Quotas: host.Quotas{SessionPercent: 100, AgentPercent: 50}})
		for i := range 4 {
			wantWaiting(t, run(h, host.Session{AgentID: "x", SessionID: fmt.Sprint(i)}, `await yield_control()`), codemode.ReasonYield)
		}
		if r := run(h, host.Session{AgentID: "x", SessionID: "5"}, `await yield_control()`); !strings.Contains(r.Error, "this agent has 4") {
			t.Error(show(r))
		}
		wantWaiting(t, run(h, host.Session{AgentID: "y"}, `await yield_control()`), codemode.ReasonYield)
	})
	t.Run("workers", func(t *testing.T) {
		h := start(t, host.Config{Guests: host.GuestConfig{Max: 2}, Settings: host.Settings{Timeout: 60 * time.Second}})
		stop, end := context.WithCancel(ctx)
		ended := make(chan *host.Result, 6)
		for range cap(ended) {
			go func() { ended <- h.Exec(stop, mallory, host.ExecInput{Code: `for (;;) {}`}) }()
		}
		wantValue(t, run(h, alice, `return 1`), "1")
		end()
		for range cap(ended) {
			<-ended
		}
		wantValue(t, run(h, alice, `return 2`), "2")
	})
	t.Run("a worker in vain", func(t *testing.T) {
		h := start(t, host.Config{Guests: host.GuestConfig{Max: 2}, Settings: host.Settings{Timeout: 60 * time.Second}})
		stop, end := context.WithCancel(ctx)
		ended := make(chan *host.Result)
		go func() { ended <- h.Exec(stop, mallory, host.ExecInput{Code: `for (;;) {}`}) }()
		for h.Engine().Taken()["workers"] == 0 {
			runtime.Gosched()
		}
		r := h.Exec(ctx, mallory, host.ExecInput{Code: `return 1`, Wait: 200 * time.Millisecond})
		wantFailure(t, r, codemode.CodeUnavailable, "", codemode.PhaseHost)
		for _, want := range []string{"every guest worker is busy", "this session has 1 guest workers", "1 of the host's 2", "guest.maxWorkers"} {
			if !strings.Contains(r.Error, want) {
				t.Errorf("no %q in %s", want, r.Error)
			}
		}
		end()
		<-ended
	})
	t.Run("approvals", func(t *testing.T) {
		h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}, Quotas: host.Quotas{SessionPercent: 1}, Hooks: []policy.Hook{{Name: "ask", Before: func(_ context.Context, c *policy.Call) (policy.Verdict, error) {
			if c.ToolName != "echo" {
				return policy.Verdict{}, nil
			}
			return policy.Verdict{Approval: &policy.ApprovalRequest{Title: "May it?"}}, nil
		}}}})
		share := policy.DefaultMaxPending/100 + min(policy.DefaultMaxPending%100, 1)
		r := h.Exec(ctx, mallory, host.ExecInput{Wait: 2 * time.Second, Code: fmt.Sprintf(`const e = await Promise.any(Array.from({length: %d}, (_, i) => tools.echo({i}).then(() => { throw 1 }, e => e))); text([e.code, e.effectStatus, e.message].join())`, share+1)})
		if said := show(r); !strings.Contains(said, `quota_exceeded,none,`) || !strings.Contains(said, "calls that wait for a person") {
			t.Error(show(r))
		}
		wantWaiting(t, h.Exec(host.WithAskingCaller(ctx), alice, host.ExecInput{Code: `return await tools.echo({})`}), codemode.ReasonApproval)
	})
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

// TestAReplyThatIsRefusedSaysWhatBecameOfTheCall: only a tool that reads is proposed to
// be called again.
func TestAReplyThatIsRefusedSaysWhatBecameOfTheCall(t *testing.T) {
	t.Parallel()
	tool := func(name, reply string, reads bool) catalog.Tool {
		return catalog.Tool{Name: name, Description: "Answers.", ReadOnly: reads, Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
			return json.RawMessage(reply), nil
		}}
	}
	huge := `"` + strings.Repeat("x", 9<<20) + `"`
	h := start(t, host.Config{Tools: []catalog.Tool{tool("read", huge, true), tool("write", huge, false), tool("garble", "{", true), tool("break", "{", false)}})
	for name, want := range map[string]string{
		"read": "reply_too_large none true", "write": "reply_too_large done false", "garble": "invalid_reply none false", "break": "invalid_reply unknown false",
	} {
		r := exec(h, `try { await tools.call("`+name+`", {}) } catch (e) { text(e.message); return e.code + " " + e.effectStatus + " " + e.message.includes("Ask it for less") }`)
		wantValue(t, r, `"`+want+`"`)
		if said := r.Output[0].Text(); strings.Contains(want, "none") == strings.Contains(said, "do not repeat it") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// TestARunThatFindsNoRoomIsKept: a stored run keeps waiting if its image is larger than its
// session may hold, and a host with more room finishes it.
func TestARunThatFindsNoRoomIsKept(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	config := func(held int64) host.Config {
		return host.Config{Store: openDir(t, dir), Quotas: host.Quotas{HeldBytes: held}, Settings: host.Settings{Timeout: time.Minute}} // also a busy machine takes the image in time
	}
	first := start(t, config(0))
	id := wantWaiting(t, exec(first, `const parts = [];
for (let i = 0; i < 144; i++) parts.push(crypto.getRandomValues(new Uint8Array(65536)));
await yield_control();
return parts.length`), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	small := start(t, config(16<<20))
	for range 2 {
		r := small.Wait(context.Background(), me, id)
		if r.Reason != codemode.ReasonQuota || !strings.Contains(r.Error, "kept as it was") || strings.Contains(r.Error, "was ended") {
			t.Fatalf("got %s", show(r))
		}
	}
	if err := small.Close(); err != nil {
		t.Fatal(err)
	}
	wantValue(t, start(t, config(0)).Wait(context.Background(), me, id), `144`)
}
