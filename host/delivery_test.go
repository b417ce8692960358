package host_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// TestAResultWaitsForItsDelivery: the result of a run that has ended outlives its host
// until it has been delivered. It belongs to the session of the run, goes to one caller
// at a time, and is gone once it has arrived.
func TestAResultWaitsForItsDelivery(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, code, value string }{
		{"a value", `await yield_control(); text("said"); return [await tools.echo({n: 1}), "<&>"]`, `[{"n":1},"<&>"]`},
		{"a failure", `await yield_control(); await tools.echo({}); text("said"); throw new Error("no")`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := mkdir(t)
			config := func() host.Config {
				return host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{echo("echo")}}
			}
			check := func(r *host.Result) {
				t.Helper()
				if tc.value != "" {
					wantValue(t, r, tc.value)
				} else {
					wantFailure(t, r, codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest)
					if !r.Dispatched {
						t.Error("dispatched is false")
					}
				}
				if len(r.Output) != 1 || r.Output[0].Text() != "said" || r.Telemetry.CallCount != 1 {
					t.Errorf("got %s", show(r))
				}
			}
			ctx := context.Background()
			first := start(t, config())
			id := wantWaiting(t, exec(first, tc.code), codemode.ReasonYield)
			sent := first.Deliver(ctx, me, id, 0)
			check(sent.Result)
			wantFailure(t, first.Wait(ctx, me, id), codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput)
			sent.Release()
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}

			second := start(t, config())
			wantFailure(t, second.Wait(ctx, host.Session{}, id), codemode.CodeInvalidInput, codemode.ReasonWrongSession, codemode.PhaseInput)
			again := second.Deliver(ctx, me, id, 0)
			check(again.Result)
			again.Release()
			last := second.Deliver(ctx, me, id, 0)
			check(last.Result)
			last.Done()
			again.Done()
			wantFailure(t, second.Wait(ctx, me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
			if files, err := filepath.Glob(filepath.Join(dir, "run_*")); err != nil || len(files) != 0 {
				t.Errorf("a delivered result left %v, %v", files, err)
			}
		})
	}
}

// TestAResultInGo: Wait has delivered what it returns, and takes a result that
// another process could not deliver.
func TestAResultInGo(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}})
	id := wantWaiting(t, exec(h, `await yield_control(); return 1`), codemode.ReasonYield)
	h.Deliver(context.Background(), me, id, 0).Release()
	wantValue(t, h.Wait(context.Background(), me, id), `1`)
	wantFailure(t, h.Wait(context.Background(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
}

// endingStore lets a run end when another wait has come for it.
type endingStore struct {
	runstore.Store
	ending chan struct{} // receives when a run is about to end
	waits  chan struct{} // has the newest look of a wait after the store
}

func (s *endingStore) Health(context.Context) runstore.Health {
	select {
	case s.waits <- struct{}{}:
	default:
	}
	return runstore.Health{State: runstore.HealthOK}
}

func (s *endingStore) Create(ctx context.Context, r *runstore.Record, most int) (runstore.Claim, error) {
	return through(s)(s.Store.Create(ctx, r, most))
}

func (s *endingStore) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	return through(s)(s.Store.Claim(ctx, id))
}

func (s *endingStore) end(ctx context.Context, claim runstore.Claim, e *runstore.Ended) error {
	select {
	case <-s.waits: // the first wait has looked
	default:
	}
	s.ending <- struct{}{}
	<-s.waits
	return claim.End(ctx, e)
}

// TestAWaitThatMeetsTheEndOfAnother: a wait finds its run while the result for another one is
// stored, which then does not arrive. The result is there for the next wait.
func TestAWaitThatMeetsTheEndOfAnother(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := &endingStore{Store: openDir(t, mkdir(t)), ending: make(chan struct{}), waits: make(chan struct{}, 1)}
	h := start(t, host.Config{Store: store})
	id := wantWaiting(t, exec(h, `await yield_control(); return 1`), codemode.ReasonYield)
	first := make(chan *host.Delivery)
	go func() { first <- h.Deliver(ctx, me, id, 0) }()
	<-store.ending
	wantFailure(t, h.Wait(ctx, me, id), codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput)
	(<-first).Release()
	wantValue(t, h.Wait(ctx, me, id), `1`)
}

// TestWhatBecameOfARun: a wait for a run that is gone says in the same process and in
// another what became of it and whether it had called tools, with its telemetry where
// no result had it.
func TestWhatBecameOfARun(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const called, idle = `await tools.echo({}); await yield_control()`, `await yield_control()`
	for _, tc := range []struct {
		name, code string
		other      bool // asked in another process
		end        func(t *testing.T, h *host.Host, id string)
		reason     codemode.Reason
		say        string
		dispatched bool
	}{
		{"expired after a call", called, false, expire, codemode.ReasonRunExpired, "It had called tools: find out what they did", true},
		{"expired without one", idle, false, expire, codemode.ReasonRunExpired, "It had called no tool: start the program again.", false},
		{"expired in another process", called, true, nil, codemode.ReasonRunExpired, "It had called tools: find out what they did", true},
		{"aborted", called, false, func(t *testing.T, h *host.Host, id string) {
			wantFailure(t, h.Abort(ctx, me, id), codemode.CodeAborted, "", codemode.PhaseHost)
		}, codemode.ReasonRunUnavailable, "It was aborted", true},
		{"its session ended", called, false, func(t *testing.T, h *host.Host, id string) {
			if n, err := h.EndSession(ctx, me); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}, codemode.ReasonRunUnavailable, "It ended with its session", true},
		{"it returned", called, false, func(t *testing.T, h *host.Host, id string) {
			wantValue(t, h.Wait(ctx, me, id), `null`)
		}, codemode.ReasonRunUnavailable, "its last result was the final one", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := host.Config{Tools: []catalog.Tool{echo("echo")}}
			dir := mkdir(t)
			cfg.Store = openDir(t, dir)
			h := start(t, cfg)
			id := wantWaiting(t, exec(h, tc.code), codemode.ReasonYield)
			if tc.other {
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
				expired := cfg
				expired.Store = &agedStore{Store: openDir(t, dir)}
				h = start(t, expired)
			} else {
				tc.end(t, h, id)
			}
			got := h.Wait(ctx, me, id)
			wantFailure(t, got, codemode.CodeInvalidInput, tc.reason, codemode.PhaseInput)
			if got.Dispatched != tc.dispatched || !strings.Contains(got.Error, tc.say) {
				t.Errorf("got %s\nwant dispatched %v and %q", show(got), tc.dispatched, tc.say)
			}
			if got.Reason == codemode.ReasonRunExpired && (got.Telemetry.WallMillis == 0 || tc.dispatched != (got.Telemetry.CallCount == 1)) {
				t.Errorf("telemetry %+v", got.Telemetry)
			}
		})
	}
}

// TestASweepEndsARunFirst: another process that shares the store deletes the run while
// this one would end it, which says nevertheless what became of it.
func TestASweepEndsARunFirst(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	var held atomic.Bool
	tried := make(chan struct{}, 1)
	store := &faultyStore{Store: openDir(t, dir), beforeClaim: func() {
		if held.CompareAndSwap(true, false) {
			tried <- struct{}{}
		}
	}}
	h := start(t, host.Config{Store: store, Settings: host.Settings{SnapshotTTL: time.Second}})
	id := wantWaiting(t, exec(h, `await yield_control()`), codemode.ReasonYield)
	other := openDir(t, dir)
	claim, err := other.Claim(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	held.Store(true)
	<-tried
	if err := claim.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	claim.Release()
	expire(t, h, id)
	wantFailure(t, h.Wait(t.Context(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunExpired, codemode.PhaseInput)
}

// expire ends the run's time in this process.
func expire(_ *testing.T, h *host.Host, id string) { h.Engine().Expire(id) }

// TestAnAbortSaysWhatTheRunHadDone: of a run of this process, and of one that only the
// store has.
func TestAnAbortSaysWhatTheRunHadDone(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	config := func() host.Config {
		return host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{echo("echo")}}
	}
	check := func(r *host.Result) {
		t.Helper()
		wantFailure(t, r, codemode.CodeAborted, "", codemode.PhaseHost)
		if !r.Dispatched || r.Telemetry.CallCount != 1 || len(r.Telemetry.Isolation.Layers) == 0 {
			t.Errorf("got %s", show(r))
		}
	}
	h := start(t, config())
	const code = `await tools.echo({}); await yield_control()`
	check(h.Abort(context.Background(), me, wantWaiting(t, exec(h, code), codemode.ReasonYield)))
	id := wantWaiting(t, exec(h, code), codemode.ReasonYield)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	check(start(t, config()).Abort(context.Background(), me, id))
}

// TestTelemetryNeverGoesBack, in one process and over several.
func TestTelemetryNeverGoesBack(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"one process": false, "several": true} {
		t.Run(name, func(t *testing.T) {
			dir := mkdir(t)
			config := func() host.Config {
				return kept(t, dir, host.Config{Tools: []catalog.Tool{echo("echo")}, Hooks: []policy.Hook{asks(policy.ApprovalRequest{Timeout: time.Hour}, "echo")}})
			}
			h := start(t, config())
			ctx := host.WithAskingCaller(context.Background())
			r := h.Exec(ctx, me, host.ExecInput{Code: `await tools.echo({})`})
			for range 3 {
				before := r
				if before.Status != host.StatusWaiting {
					t.Fatalf("got %s", show(before))
				}
				if restart {
					if err := h.Close(); err != nil {
						t.Fatal(err)
					}
					h = start(t, config())
				}
				r = h.Wait(ctx, me, before.RunID)
				if a, b := before.Telemetry, r.Telemetry; b.WallMillis <= a.WallMillis || b.ApprovalWaitMillis <= a.ApprovalWaitMillis {
					t.Errorf("wallMs %v, then %v; approvalWaitMs %v, then %v", a.WallMillis, b.WallMillis, a.ApprovalWaitMillis, b.ApprovalWaitMillis)
				}
			}
		})
	}
}

// agedStore has records that have expired.
type agedStore struct{ runstore.Store }

func (s *agedStore) Get(ctx context.Context, id string) (*runstore.Record, error) {
	rec, err := s.Store.Get(ctx, id)
	if err == nil {
		err = runstore.ErrExpired
	}
	return rec, err
}

// TestAnExpiredResultSaysNothingOfCalls: a result that was not fetched in time is
// gone, and a repetition might double what its run did.
func TestAnExpiredResultSaysNothingOfCalls(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	const ttl = 5 * time.Second // in which a busy machine waits for the run once
	config := host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{echo("echo")}, Settings: host.Settings{SnapshotTTL: ttl}}
	first := start(t, config)
	id := wantWaiting(t, exec(first, `await yield_control(); return await tools.echo({})`), codemode.ReasonYield)
	sent := first.Deliver(context.Background(), me, id, 0)
	wantValue(t, sent.Result, `{}`)
	sent.Release()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	config.Store = openDir(t, dir)
	second := start(t, config)
	<-time.After(ttl + time.Second) // the clock alone ends a result's time
	r := second.Wait(context.Background(), me, id)
	if r.Status != host.StatusFailed || !r.Dispatched || strings.Contains(r.Error, "called no tool") {
		t.Errorf("got %s", show(r))
	}
}

// TestAParkedRunThatEndedElsewhereKeepsItsResult: the clock of the process that
// parked a run is not the clock of the result that another process has stored.
func TestAParkedRunThatEndedElsewhereKeepsItsResult(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	config := func() host.Config {
		return host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{echo("echo")}}
	}
	first := start(t, config())
	id := wantWaiting(t, exec(first, `await yield_control(); return await tools.echo({})`), codemode.ReasonYield)
	second := start(t, config())
	sent := second.Deliver(context.Background(), me, id, 0)
	wantValue(t, sent.Result, `{}`)
	sent.Release()
	first.Engine().Expire(id)
	wantValue(t, second.Wait(context.Background(), me, id), `{}`)
}
