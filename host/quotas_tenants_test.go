package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
)

// TestCallsInFlightAreBounded: a call beyond the share of its session is not made, and says
// what is used up; another session continues.
func TestCallsInFlightAreBounded(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	h := start(t, host.Config{Quotas: host.Quotas{Calls: 4}, Tools: []catalog.Tool{slow("slow", release), echo("echo")}})
	r := h.Exec(context.Background(), mallory, host.ExecInput{Code: `const p = [1, 2, 3].map(() => tools.slow({}));
const no = await Promise.race(p).catch(e => e); text([no.code, no.effectStatus, no.message].join()); await yield_control(); await Promise.allSettled(p); return "done"`})
	wantWaiting(t, r, codemode.ReasonPendingTools)
	for _, want := range []string{"quota_exceeded,none,", "2 tool calls in flight and wants 1 more, but may have 2 of the host's 4", "quotas.callsInFlight"} {
		if !strings.Contains(show(r), want) {
			t.Errorf("no %q in %s", want, show(r))
		}
	}
	wantValue(t, h.Exec(context.Background(), alice, host.ExecInput{Code: `return (await tools.echo({a: 1})).a`}), `1`)
	close(release)
	wantValue(t, h.Wait(context.Background(), mallory, r.RunID), `"done"`)
	h.Engine().Quiet(t.Context())
	if left := h.Engine().Taken(); len(left) != 0 {
		t.Errorf("taken: %v", left)
	}
}

// spend uses up processor time, a little in each turn.
const spend = `for (;;) { await yield_control(); const end = performance.now() + 100; while (performance.now() < end) {} }`

// TestProcessorTimeOfAnHourIsBounded: once it is used up, nothing of the session starts, and a
// run is kept as it was; another session continues.
func TestProcessorTimeOfAnHourIsBounded(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Quotas: host.Quotas{CPUSecondsPerHour: 2, SessionPercent: 10}})
	r := h.Exec(context.Background(), mallory, host.ExecInput{Code: spend})
	wantWaiting(t, r, codemode.ReasonYield)
	kept := r
	for kept.Status == host.StatusWaiting { // a busy machine gives it less than 100 ms of processor time each time
		kept = h.Wait(context.Background(), mallory, r.RunID)
	}
	fresh := h.Exec(context.Background(), mallory, host.ExecInput{Code: `return 1`})
	for _, got := range []*host.Result{kept, fresh} {
		wantFailure(t, got, codemode.CodeUnavailable, codemode.ReasonQuota, codemode.PhaseHost)
		if !strings.Contains(got.Error, "quotas.cpuSecondsPerHour") {
			t.Errorf("got %s", show(got))
		}
	}
	if list, err := h.Runs().List(context.Background(), mallory); err != nil || len(list) != 1 {
		t.Errorf("the run was not kept: %v, %v", list, err)
	}
	wantValue(t, h.Exec(context.Background(), alice, host.ExecInput{Code: `return 1`}), `1`)
}

// TestStoredBytesAreBounded: a run that does not fit any more is not suspended.
func TestStoredBytesAreBounded(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Store: openDir(t, mkdir(t)), Quotas: host.Quotas{StoredBytes: 1 << 20}})
	code := `const b = []; for (let i = 0; i < 30000; i++) b.push({i, s: String(Math.random())}); await yield_control(); return b.length`
	var ids []string
	for range 20 {
		r := h.Exec(context.Background(), mallory, host.ExecInput{Code: code})
		if r.RunID == "" {
			wantFailure(t, r, codemode.CodeSnapshotLimit, codemode.ReasonQuota, codemode.PhaseHost)
			if !strings.Contains(r.Error, "quotas.storedBytes") {
				t.Errorf("got %s", show(r))
			}
			break
		}
		ids = append(ids, r.RunID)
	}
	if len(ids) == 20 {
		t.Error("20 runs were stored")
	}
	for _, id := range ids {
		h.Abort(context.Background(), mallory, id)
	}
	wantWaiting(t, h.Exec(context.Background(), mallory, host.ExecInput{Code: `await yield_control()`}), codemode.ReasonYield)
}
