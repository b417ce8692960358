package host_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/wire"
	"github.com/quoinhq/quoin/namespaces"
)

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// panickyStore panics at one of its methods, for the runs of the session "mallory".
type panickyStore struct {
	runstore.Memory
	at string
}

func (s *panickyStore) trip(at string, owner host.Session) {
	if s.at == at && owner.SessionID == "mallory" {
		panic("the store panics at " + at)
	}
}

func (s *panickyStore) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	s.trip("create", r.Session)
	return through(&panickyClaim{s, r.ID})(s.Memory.Create(ctx, r, max))
}

func (s *panickyStore) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	return through(&panickyClaim{s, id})(s.Memory.Claim(ctx, id))
}

func (s *panickyStore) Get(ctx context.Context, id string) (*runstore.Record, error) {
	r, err := s.Memory.Get(ctx, id)
	if err == nil {
		s.trip("get", r.Session)
	}
	return r, err
}

// panickyClaim is the hooks of a claim of one run.
type panickyClaim struct {
	*panickyStore
	id string
}

func (c *panickyClaim) trip(ctx context.Context, at string) {
	if r, err := c.Memory.Get(ctx, c.id); err == nil {
		c.panickyStore.trip(at, r.Session)
	}
}

func (c *panickyClaim) putCalls(ctx context.Context, claim runstore.Claim, generation uint64, calls []runstore.Call) error {
	c.trip(ctx, "putcalls")
	return claim.PutCalls(ctx, generation, calls)
}

func (c *panickyClaim) remove(ctx context.Context, claim runstore.Claim) error {
	c.trip(ctx, "delete")
	return claim.Delete(ctx)
}

// TestAPanicEndsItsRunAlone: whatever panics on behalf of mallory's run, her run ends or
// continues, alice's run continues, metrics and lists answer, the log has the stack, and the
// host closes.
func TestAPanicEndsItsRunAlone(t *testing.T) {
	t.Parallel()
	mallory, alice := host.Session{AgentID: "a", SessionID: "mallory"}, host.Session{AgentID: "a", SessionID: "alice"}
	const suspends = `await yield_control(); return await tools.echo({n:7})`
	for _, tc := range []struct {
		name, code string
		at         string // of the store
		during     string
		cfg        host.Config
		want       string // of mallory's last result: a value, or the code of its failure
		between    string // the code if it happens between exec and wait
	}{
		{name: "store create", code: suspends, at: "create", during: "run", want: "internal_error"},
		{name: "store get", code: suspends, at: "get", during: "run", want: "internal_error"},
		{name: "store delete", code: suspends, at: "delete", during: "run", want: "internal_error"},
		{name: "store of a call", code: `const p = tools.slow({n:7}); await yield_control(); return await p`, at: "putcalls", during: "call", want: "internal_error", between: "invalid_input"},
		{name: "sink", code: `return await tools.echo({n:7})`, during: "observer", want: `{"n":7}`, cfg: host.Config{Trajectory: host.TrajectoryConfig{Sink: panickySink{}}}},
		{name: "observe", code: `return await tools.echo({n:7})`, during: "observer", want: `{"n":7}`, cfg: host.Config{Trajectory: host.TrajectoryConfig{OnEvent: func(e trajectory.Event) {
			if e.Session.SessionID == "mallory" {
				panic("observe")
			}
		}}}},
		{name: "tool", code: `return await tools.panics({}).catch((e) => e.code)`, during: "tool", want: `"tool_panic"`},
		{name: "scope", code: `try { return Evil.any } catch (e) { return e.code }`, during: "background", want: `"tool_error"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log lines
			release := make(chan struct{})
			tc.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			tc.cfg.Store = &panickyStore{at: tc.at}
			tc.cfg.Tools = []catalog.Tool{echo("echo"), slow("slow", release),
				{Name: "panics", Description: "Panics.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) { panic("tool") }}}
			tc.cfg.Namespaces = []namespaces.Registration{{ID: "evil", PluginID: "core", GlobalName: "Evil", Description: "Evil.", RequiredTools: []string{"echo"},
				CreateScope: func(context.Context, namespaces.RunContext) (any, error) { panic("scope") }}}
			h := start(t, tc.cfg)
			ctx := context.Background()
			held := h.Exec(ctx, alice, host.ExecInput{Code: suspends})
			r := h.Exec(ctx, mallory, host.ExecInput{Code: tc.code})
			close(release)
			for r.Status == host.StatusWaiting {
				r = h.Wait(ctx, mallory, r.RunID)
			}
			got := string(r.Value)
			if r.Status == host.StatusFailed {
				got = string(r.Code)
			}
			if got != tc.want && (tc.between == "" || got != tc.between || r.Reason != codemode.ReasonRunUnavailable) {
				t.Errorf("mallory got %s, want %s", show(r), tc.want)
			}
			wantValue(t, h.Wait(ctx, alice, held.RunID), `{"n":7}`)
			if runs, err := h.Runs().List(ctx, alice); err != nil || len(runs) != 0 {
				t.Errorf("runs %v, %v", runs, err)
			}
			if n := metricOf(t, h, "quoin_panics_total", tc.during); n < 1 {
				t.Errorf("the metric says %v during %s", n, tc.during)
			}
			if said := log.String(); !strings.Contains(said, "level=ERROR") || !strings.Contains(said, "stack=") || !strings.Contains(said, "during="+tc.during) {
				t.Errorf("the log says %s", said)
			}
		})
	}
}

type panickySink struct{}

func (panickySink) Record(e trajectory.Event) error {
	if e.Session.SessionID == "mallory" {
		panic("sink")
	}
	return nil
}

// slow is a tool that returns its input once release is closed.
func slow(name string, release <-chan struct{}) catalog.Tool {
	t := echo(name)
	t.Invoke = func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
		select {
		case <-release:
			return c.Input, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return t
}

// metricOf is the sum of a metric over the series that have a label of that value, or
// over all of them.
func metricOf(t *testing.T, h *host.Host, name, label string) (sum float64) {
	t.Helper()
	families, err := h.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			has := label == ""
			for _, l := range m.GetLabel() {
				has = has || l.GetValue() == label
			}
			if f.GetName() == name && has {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// FuzzReportedNumbers hands the host reports as a worker that was taken over could
// send them: no number may panic, overflow, count backwards or hold a lock.
func FuzzReportedNumbers(f *testing.F) {
	h := start(f, host.Config{Tools: []catalog.Tool{echo("echo")}})
	for _, n := range []uint64{0, 1, math.MaxInt32, math.MaxInt64 / 1000, math.MaxInt64/1000 + 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64} {
		for _, status := range []uint8{uint8(wire.StatusDone), uint8(wire.StatusIdle), uint8(wire.StatusFailed)} {
			f.Add(status, n, n, n, int64(n), int(n), n)
		}
	}
	last := 0.0
	f.Fuzz(func(t *testing.T, status uint8, cpu, heap, peak uint64, timer int64, pending int, id uint64) {
		rep := &wire.Report{
			Status: wire.Status(status), Value: []byte("1"), Pending: pending, TimerMillis: timer, CPUMicros: cpu, HeapBytes: heap, HeapPeakBytes: peak,
			Requests: []wire.Request{{ID: id, Method: wire.MethodCall, Target: "echo", Args: []byte("1")}},
			Output:   []wire.Output{{Kind: wire.OutputText, JSON: []byte(`"x"`)}},
		}
		if rep.Status == wire.StatusFailed {
			rep.Err = &wire.GuestError{Message: "no", Code: "internal_error"}
		}
		tel := host.TakeReport(h, me, rep)
		if tel.GuestCPUMillis < 0 || tel.WallMillis < 0 || tel.PeakHeapBytes > 1<<30 {
			t.Errorf("telemetry %+v", tel)
		}
		if _, err := json.Marshal(tel); err != nil {
			t.Error(err)
		}
		if now := metricOf(t, h, "quoin_guest_cpu_seconds_total", ""); now < last {
			t.Errorf("guest CPU went from %v to %v", last, now)
		} else {
			last = now
		}
		if n, err := h.Runs().List(t.Context(), me); len(n) != 0 || err != nil {
			t.Errorf("runs %v, %v", n, err)
		}
	})
}
