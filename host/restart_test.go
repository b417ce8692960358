package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

func itoa(n int) string { return strconv.Itoa(n) }

func openDir(t *testing.T, path string) runstore.Store {
	t.Helper()
	s, err := runstore.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRunsSurviveTheHost(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	first := start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{echo("echo")}})
	id := wantWaiting(t, exec(first, `
const kept = await tools.echo({n: 41});
await yield_control();
return (await tools.echo({n: kept.n + 1})).n`), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, first.Wait(context.Background(), me, id), codemode.CodeUnavailable, "", codemode.PhaseHost)

	second := start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{echo("echo")}})
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
	claim, err := openDir(t, dir).Create(context.Background(), old, 0)
	if err != nil {
		t.Fatal(err)
	}
	claim.Release()
	swept := &sweeps{Store: openDir(t, dir), left: make(chan int, 1)}
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
	first := start(t, host.Config{Store: openDir(t, dir)})
	id := wantWaiting(t, exec(first, `await yield_control(); return 42`), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, id+".run")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	second := start(t, host.Config{Store: openDir(t, dir)})
	whole[len(whole)/2] ^= 1
	if err := os.WriteFile(name, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, second.Wait(context.Background(), me, id), codemode.CodeInvalidInput, codemode.ReasonRestoreFailed, codemode.PhaseHost)
	whole[len(whole)/2] ^= 1
	if err := os.WriteFile(name, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	wantValue(t, second.Wait(context.Background(), me, id), `42`)
}
