package hostile_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/hostile"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/namespaces"
)

func TestMain(m *testing.M) {
	hosttest.Main(m)
}

// deadline is how long programs may compute that may time out, idleWait how long is waited
// for those that may be waiting for ever; all others get patience, so that the load of the
// machine decides nothing.
const (
	deadline = 250 * time.Millisecond
	idleWait = 2 * time.Second
	patience = 60 * time.Second
)

// isolation is what programs run with, and logs takes what their hosts say: what
// sanitizers find is in it.
func isolation() codemode.IsolationPolicy {
	if hosttest.Sanitized() {
		return host.IsolationBestEffort
	}
	return host.IsolationRequired
}

func logs() slog.Handler {
	if hosttest.Sanitized() {
		return slog.NewTextHandler(os.Stderr, nil)
	}
	return slog.DiscardHandler
}

// victims are hosts for the programs, one for each memory limit.
type victims map[int64]*host.Host

// newVictims starts a host for every limit the programs ask for.
func newVictims(t testing.TB, programs []hostile.Program) victims {
	t.Helper()
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	v := victims{}
	for _, p := range programs {
		if v[p.MemoryLimit] != nil {
			continue
		}
		h, err := host.New(context.Background(), host.Config{
			Guests:       host.GuestConfig{Path: guest},
			Settings:     host.Settings{Timeout: patience, Wait: patience, MemoryLimit: p.MemoryLimit, Isolation: isolation()},
			Tools:        tools(),
			Namespaces:   []namespaces.Registration{vault()},
			DrainTimeout: time.Millisecond, // of calls that end with their run only
			Logger:       slog.New(logs()),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
		v[p.MemoryLimit] = h
	}
	return v
}

// tools are what the programs abuse.
func tools() []catalog.Tool {
	echo := func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) { return c.Input, nil }
	big := json.RawMessage(`"` + strings.Repeat("b", 4<<20) + `"`)
	return []catalog.Tool{
		{Name: "echo", Description: "Returns its input.", ReadOnly: true, Invoke: echo},
		{Name: "vault_get", Owner: "vault", Description: "Returns its input.", ReadOnly: true, Invoke: echo},
		{Name: "big", Description: "Returns four megabytes.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
			return big, nil
		}},
		{Name: "fail", Description: "Fails.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
			return nil, errors.New("it failed")
		}},
		{Name: "slow", Description: "Answers never.", Invoke: func(ctx context.Context, _ catalog.Invocation) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	}
}

func vault() namespaces.Registration {
	return namespaces.Registration{
		PluginID: "vault", ID: "vault", GlobalName: "Vault", Description: "Returns what it is given.", RequiredTools: []string{"vault_get"},
		CreateScope: func(context.Context, namespaces.RunContext) (any, error) {
			return map[string]any{
				"version": "1",
				"get":     namespaces.Call{Tool: "vault_get", Mapping: namespaces.Mapping{Kind: namespaces.MapPositional, Positional: []string{"value"}}},
			}, nil
		},
	}
}

// attack runs one program and forgets its run.
func (v victims) attack(p hostile.Program, s host.Session) (*host.Result, time.Duration) {
	in := host.ExecInput{Code: p.Source, Language: p.Language}
	if p.MayEnd("timeout") {
		in.Timeout = deadline
	}
	if p.MayEnd("waiting") {
		in.Wait = idleWait
	}
	h := v[p.MemoryLimit]
	began := time.Now()
	r := h.Exec(context.Background(), s, in)
	took := time.Since(began)
	if r.Status == host.StatusWaiting {
		h.Abort(context.Background(), s, r.RunID)
	}
	return r, took
}

// every chooses programs for machines that are slow.
var every = flag.Int("every", 1, "run every n-th program of the corpus")

// TestCorpus runs every program, a few at a time, and a good one after each.
func TestCorpus(t *testing.T) {
	if testing.Short() && *every == 1 {
		t.Skip("all hostile programs, a minute of two processors; make test-all runs it")
	}
	all, err := hostile.Programs()
	if err != nil {
		t.Fatal(err)
	}
	var programs []hostile.Program
	for i := 0; i < len(all); i += *every {
		programs = append(programs, all[i])
	}
	if _, err := hosttest.Guest(); err != nil { // built before anything is counted
		t.Fatal(err)
	}
	before := holds(t, hosttest.Usage{})
	t.Run("programs", func(t *testing.T) {
		v := newVictims(t, programs)
		work := make(chan hostile.Program)
		var wg sync.WaitGroup
		for i := range atOnce {
			s := host.Session{SessionID: fmt.Sprint("attacker", i)}
			wg.Go(func() {
				for p := range work {
					check(t, v, p, s)
				}
			})
		}
		for _, p := range programs {
			work <- p
		}
		close(work)
		wg.Wait()
	})
	t.Logf("%d programs", len(programs))
	if after := holds(t, before); after != before {
		t.Errorf("before: %+v, after: %+v", before, after)
	}
}

// atOnce is how many programs run at a time. Most of them spin, so that more
// than two cores carry would only make them wait for each other.
const atOnce = 3

func check(t *testing.T, v victims, p hostile.Program, s host.Session) {
	r, took := v.attack(p, s)
	code, value := outcome(r)
	t.Logf("%s: %s after %d ms", p, code, took.Milliseconds())
	if !hosttest.Sanitized() && !p.Accepts(code, value) { // sanitizers change what fits into time and stack
		t.Errorf("%s ends with %.500s\nwant one of %v", p, show(r), p.Endings)
	}
	switch {
	case r.Reason == codemode.ReasonWorkerCrashed, r.Reason == codemode.ReasonSandboxViolation, r.Code == codemode.CodeUnavailable:
		t.Errorf("%s ended its worker: %.500s", p, show(r))
	case len(r.Error) > 8<<10:
		t.Errorf("%s: an error of %d bytes", p, len(r.Error))
	}
	good := v[p.MemoryLimit].Exec(context.Background(), s, host.ExecInput{Code: `return [(await Vault.get("v")).value, (await tools.echo({ a: [1] })).a, Object.keys({ b: 2 })]`})
	if good.Status != host.StatusCompleted || string(good.Value) != `["v",[1],["b"]]` {
		t.Errorf("after %s a good program ends with %.500s", p, show(good))
	}
}

// outcome puts a result into the words of the corpus.
func outcome(r *host.Result) (code, value string) {
	if r.Status == host.StatusFailed {
		return string(r.Code), ""
	}
	return string(r.Status), string(r.Value)
}

func show(r *host.Result) string {
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// holds measures what the process holds, once it is as little as want: what is
// ended ends a moment later.
func holds(t testing.TB, want hosttest.Usage) hosttest.Usage {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		u, err := hosttest.MeasureUsage()
		if err != nil {
			t.Fatal(err)
		}
		u.Resident = 0
		if u == want || want == (hosttest.Usage{}) {
			return u
		}
		<-tick.C
	}
	u, err := hosttest.MeasureUsage()
	if err != nil {
		t.Fatal(err)
	}
	u.Resident = 0
	return u
}
