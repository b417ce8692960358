package bench_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
)

// held never answers.
var held = catalog.Tool{
	Name: "held", Description: "Takes until it is cancelled.", Idempotent: true,
	Invoke: func(ctx context.Context, _ catalog.Invocation) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	},
}

// asked is the client's own tool.
var asked = catalog.Tool{Name: "asked", Description: "Asks the client."}

// guard has people asked about calls of nothing.
var guard = policy.Hook{
	Name: "guard", Tools: []string{nothing.Name},
	Before: func(context.Context, *policy.Call) (policy.Verdict, error) {
		return policy.Verdict{Approval: &policy.ApprovalRequest{Timeout: time.Hour}}, nil
	},
}

// resumptions is a sink that reports waits that resume a run.
type resumptions chan struct{}

// Record implements trajectory.Sink.
func (r resumptions) Record(e trajectory.Event) error {
	if e.Kind == trajectory.RunResumed {
		r <- struct{}{}
	}
	return nil
}

// clusterSecret is what the hosts of benchmarks share.
func clusterSecret() (string, error) { return "a secret of thirty-two bytes, it is", nil }

// BenchmarkOtherHostsOfStores measures what happens on one host until another one, which
// shares its store, has the result.
func BenchmarkOtherHostsOfStores(b *testing.B) {
	for _, s := range sharedStores(b) {
		b.Run(s.name, func(b *testing.B) {
			b.Run("answer", func(b *testing.B) { benchAnswers(b, s) })
			b.Run("decision", func(b *testing.B) { benchDecisions(b, s) })
			b.Run("takeover", func(b *testing.B) { benchTakeovers(b, s) })
		})
	}
}

// pair are two hosts of a store.
type pair struct {
	one, other *host.Host
	resumed    resumptions // of one
}

// pairOf starts two hosts of a store, in one cluster where there can be one. The sink
// resumed hears of each wait that resumes a run of the first host.
func pairOf(b *testing.B, s sharedStore) pair {
	b.Helper()
	resumed := make(resumptions, 1000)
	config := func() host.Config {
		store := s.open(b)
		cfg := host.Config{Store: store, Settings: manySuspended, Tools: []catalog.Tool{nothing, held}, Hooks: []policy.Hook{guard}}
		cfg.Approvals.Store = s.approvals(b, store)
		if _, shared := store.(runstore.Shared); shared {
			cfg.Cluster = host.ClusterConfig{Listen: "127.0.0.1:0", Secret: clusterSecret}
		}
		return cfg
	}
	cfg := config()
	cfg.Trajectory.Sink = resumed
	return pair{newHost(b, cfg), newHost(b, config()), resumed}
}

// waitedFor has one suspend a program and wait for it. It times act on the other, for which
// ready finds a name in the result, until the wait has its result.
func (p pair) waitedFor(b *testing.B, in host.ExecInput, ready func(*host.Result) (string, bool), act func(run, name string) error) (time.Duration, *host.Result) {
	b.Helper()
	in.Wait = time.Millisecond
	r := p.one.Exec(context.Background(), session, in)
	name, ok := ready(r)
	for ; !ok; name, ok = ready(r) {
		if r.Status != host.StatusWaiting {
			b.Fatalf("got %s %s", r.Status, r.Error)
		}
		r = p.one.WaitFor(context.Background(), session, r.RunID, time.Millisecond)
		<-p.resumed
	}
	results := make(chan *host.Result)
	go func() { results <- p.one.Wait(context.Background(), session, r.RunID) }()
	<-p.resumed
	start := time.Now()
	if err := act(r.RunID, name); err != nil {
		b.Fatal(err)
	}
	res := <-results
	return time.Since(start), res
}

// benchAnswers answers a call at the other host. The wait lasts as long as the call of held;
// the program yields as soon as it has the answer.
func benchAnswers(b *testing.B, s sharedStore) {
	if _, shared := s.open(b).(runstore.Shared); !shared {
		b.Skip("its hosts do not ask each other")
	}
	p := pairOf(b, s)
	in := host.ExecInput{Code: `tools.held(); await tools.asked(); text("answered"); await yield_control()`, Tools: []catalog.Tool{asked}}
	ready := func(r *host.Result) (call string, ok bool) {
		for _, c := range r.PendingToolCalls {
			if c.Input != nil {
				return c.ID, true
			}
		}
		return "", false
	}
	answer := func(run, call string) error {
		return p.other.Answer(context.Background(), session, run, call, host.ToolAnswer{})
	}
	measure(b, row{name: "answer on another host to result, " + s.name, goal: "p50 <= 10 ms"}, func() (time.Duration, *host.Result) {
		took, res := p.waitedFor(b, in, ready, answer)
		if len(res.Output) != 1 {
			b.Fatalf("got %s %s %s before the answer", res.Status, res.Reason, res.Error)
		}
		p.one.Abort(context.Background(), session, res.RunID)
		return took, res
	}, host.StatusWaiting)
}

// benchDecisions allows a call at the other host.
func benchDecisions(b *testing.B, s sharedStore) {
	p := pairOf(b, s)
	in := host.ExecInput{Code: `return await tools.nothing()`}
	ready := func(r *host.Result) (approval string, ok bool) {
		for _, a := range r.PendingApprovals {
			return a.ID, true
		}
		return "", false
	}
	allow := func(_, approval string) error {
		_, err := p.other.Approvals().Decide(context.Background(), approval, policy.AllowOnce, "bench")
		return err
	}
	measure(b, row{name: "decision on another host to result, " + s.name, goal: "p50 <= 10 ms"}, func() (time.Duration, *host.Result) {
		return p.waitedFor(b, in, ready, allow)
	}, host.StatusCompleted)
}

// benchTakeovers ends the lease of a host with a call in flight, and waits at another host,
// where the call returns at once.
func benchTakeovers(b *testing.B, s sharedStore) {
	slow, quick := held, nothing
	slow.Name, quick.Name, quick.Idempotent = "task", "task", true
	config := func(tool catalog.Tool) host.Config {
		return host.Config{Store: s.open(b), Settings: manySuspended, Tools: []catalog.Tool{tool}, DrainTimeout: 1}
	}
	other := newHost(b, config(quick))
	var (
		holder *host.Host
		store  runstore.Store // of holder
	)
	measure(b, row{name: "takeover: the lease of a host is over, wait to completed on another, " + s.name, goal: "none"}, func() (took time.Duration, res *host.Result) {
		if holder == nil {
			cfg := config(slow)
			holder, store = newHost(b, cfg), cfg.Store
		}
		suspended := holder.Exec(context.Background(), session, host.ExecInput{Code: `return await tools.task()`, Wait: time.Millisecond})
		for res == nil || res.Reason == codemode.ReasonRunBusy { // the holder may have renewed its lease
			if gone := s.endLease(b, holder, store); gone {
				holder = nil
			}
			start := time.Now()
			res = other.Wait(context.Background(), session, suspended.RunID)
			took = time.Since(start)
		}
		return took, res
	}, host.StatusCompleted)
}
