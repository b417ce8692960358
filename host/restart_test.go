package host_test

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/statetest"
	"github.com/quoinhq/quoin/host/runstore"
)

func itoa(n int) string { return strconv.Itoa(n) }

// openState opens the state in a directory, as every process does for itself.
var openState = statetest.Open

func TestRunsSurviveTheHost(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	first := start(t, host.Config{Store: openState(t, dir), Tools: []catalog.Tool{echo("echo")}})
	id := wantWaiting(t, exec(first, `
const kept = await tools.echo({n: 41});
await yield_control();
return (await tools.echo({n: kept.n + 1})).n`), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, first.Wait(context.Background(), me, id), codemode.CodeUnavailable, "", codemode.PhaseHost)

	second := start(t, host.Config{Store: openState(t, dir), Tools: []catalog.Tool{echo("echo")}})
	wantFailure(t, second.Wait(context.Background(), host.Session{SessionID: "x"}, id), codemode.CodeInvalidInput, codemode.ReasonWrongSession, codemode.PhaseInput)
	r := second.Wait(context.Background(), me, id)
	wantValue(t, r, `42`)
	if r.Telemetry.CallCount != 2 {
		t.Errorf("callCount %d: counts must go on over a restart", r.Telemetry.CallCount)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "run_*")); err != nil || len(files) != 0 {
		t.Errorf("a finished run left %v, %v", files, err)
	}
}

// TestAbandonedRunsAreSwept: a record has expired and its host is gone. The next host deletes
// it, unasked.
func TestAbandonedRunsAreSwept(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	old := &runstore.Record{ID: "run_old", Format: runstore.FormatVersion, Expires: time.Now().Add(-time.Second)}
	claim, err := openState(t, dir).Create(context.Background(), old, 0)
	if err != nil {
		t.Fatal(err)
	}
	claim.Release()
	swept := &sweeps{Store: openState(t, dir), left: make(chan int, 1)}
	start(t, host.Config{Store: swept})
	if left := <-swept.left; left != 0 {
		t.Errorf("%d records left, want none", left)
	}
}

// sweeps is a store that tells what each sweep has left.
type sweeps struct {
	runstore.Store
	left chan int
}

func (s *sweeps) Sweep(ctx context.Context, now time.Time) (int, error) {
	n, err := s.Store.Sweep(ctx, now)
	s.left <- n
	return n, err
}

func TestDamagedRunsAreRefused(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	first := start(t, host.Config{Store: openState(t, dir)})
	id := wantWaiting(t, exec(first, `await yield_control(); return 42`), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, host.Config{Store: openState(t, dir)})
	alterState(t, dir, `UPDATE records SET header = CAST('x' || header AS BLOB)`)
	wantFailure(t, second.Wait(context.Background(), me, id), codemode.CodeInvalidInput, codemode.ReasonRestoreFailed, codemode.PhaseHost)
	alterState(t, dir, `UPDATE records SET header = substr(header, 2)`)
	wantValue(t, second.Wait(context.Background(), me, id), `42`)
}
