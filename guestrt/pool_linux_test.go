package guestrt

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

func TestACleanWorkerServesItsOwnSessionAgain(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "a")
	wantValue(t, start(t, w, js("globalThis.leak = 1; Array.prototype.leak = 2; return 1"), nil), "1")
	pid := w.Pid()
	p.Release(w)
	if other := acquire(t, p, "b"); other.Pid() == pid {
		t.Fatal("the worker of one session is lent to another")
	}
	again := acquire(t, p, "a")
	if again.Pid() != pid {
		t.Fatal("a clean worker is not lent to its session again")
	}
	wantValue(t, start(t, again, js("return typeof leak + [].leak"), nil), `"undefinedundefined"`)
}

func TestASuspendedWorkerServesItsOwnSessionAgain(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "a")
	start(t, w, js("await tools.call('t', {})"), nil)
	if _, err := w.Snapshot(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	p.Release(w)
	again := acquire(t, p, "a")
	if again.Pid() != w.Pid() {
		t.Error("the worker is wasted")
	}
	wantValue(t, start(t, again, js("return 2"), nil), "2")
}

// TestAWorkerStuckInItsResetIsReplaced: no session waits long for a worker that does not
// get ready for its session again.
func TestAWorkerStuckInItsResetIsReplaced(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "a")
	wantValue(t, start(t, w, js("return 1"), nil), "1")
	if err := w.p.os.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitStop(t, w.Pid())
	p.Release(w)
	ctx, cancel := context.WithTimeout(context.Background(), plenty)
	defer cancel()
	other, err := p.Acquire(ctx, "a", wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if other.Pid() == w.Pid() {
		t.Error("a worker that stands still is lent")
	}
	wantValue(t, start(t, other, js("return 2"), nil), "2")
}

// awaitStop returns once all threads of a process are stopped, which Signal does not wait for.
func awaitStop(t *testing.T, pid int) {
	t.Helper()
	for stopped := false; !stopped; {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(stats) == 0 {
			t.Fatalf("no thread of the process %d: %v", pid, err)
		}
		stopped = true
		for _, stat := range stats {
			b, err := os.ReadFile(stat)
			if err != nil {
				t.Fatal(err)
			}
			stopped = stopped && bytes.Contains(b, []byte(") T "))
		}
		runtime.Gosched()
	}
}

func TestAWorkerIsRetiredAfterAnyBadEnding(t *testing.T) {
	p := newPool(t, Config{})
	for _, source := range []string{"throw 1", "let a = ;", "ls -la", "import 'x'"} {
		w := acquire(t, p, "a")
		if r := start(t, w, js(source), nil); r.Status != wire.StatusFailed {
			t.Fatalf("%q: %+v", source, r)
		}
		p.Release(w)
		if n := p.kept.count(); n > 0 {
			t.Fatalf("%q: the worker waits for another cell", source)
		}
		ended(t, w.p)
	}
}

func TestAnEmptySessionGetsNoUsedWorker(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "")
	start(t, w, js("return 1"), nil)
	p.Release(w)
	if n := p.kept.count(); n > 0 {
		t.Fatalf("%d used workers wait for no session", n)
	}
	ended(t, w.p)
}

func TestAnUnusedWorkerGoesBackToThePool(t *testing.T) {
	p := newPool(t, Config{Prepared: 1})
	w := acquire(t, p, "a")
	// Room for one more, whatever the refill has done by then.
	p.warm.surge.Add(2)
	p.Release(w)
	if !w.p.alive() || p.warm.ready.take(func(c *process) bool { return c == w.p }) == nil {
		t.Error("an unused worker is thrown away")
	}
}

func TestUsedWorkersThatWaitAreBounded(t *testing.T) {
	p := newPool(t, Config{Prepared: 2})
	var first *Worker
	for i := range 5 {
		w := acquire(t, p, fmt.Sprint(i))
		if i == 0 {
			first = w
		}
		start(t, w, js("return 1"), nil)
		p.Release(w)
	}
	kept := 0
	for i := range p.kept {
		if p.kept[i].Load() != nil {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%d used workers wait", kept)
	}
	ended(t, first.p) // the oldest is the first to go
}

func TestReleaseIsIdempotentAndEndsTheLease(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "a")
	start(t, w, js("return 1"), nil)
	p.Release(w)
	second := acquire(t, p, "a")
	p.Release(w) // of a lease that is over, while its process is lent again
	wantValue(t, start(t, second, js("return 2"), nil), "2")
	if _, err := w.Start(context.Background(), js("return 3"), nil, in(plenty)); err == nil {
		t.Error("a released worker still works")
	}
	p.Release(second)
	p.Release(nil)
}

func TestReleaseInterruptsACall(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "a")
	entered := make(chan struct{})
	files := func(context.Context, string) ([]byte, bool) {
		close(entered)
		return []byte("[]"), true
	}
	failed := make(chan error, 1)
	go func() {
		_, err := w.Start(context.Background(), js("ALL_TOOLS; "+nativeLoop), files, in(plenty))
		failed <- err
	}()
	select {
	case <-entered:
	case err := <-failed:
		t.Fatal(err)
	}
	p.Release(w)
	wantEnding(t, <-failed, wire.CodeAborted, "")
	wantGone(t, w.Pid())
}

func TestCloseEndsLentWorkersAndCalls(t *testing.T) {
	p := newPool(t, Config{Prepared: 3})
	const n = 3
	entered, failed := make(chan struct{}, n), make(chan error, n)
	var pids []int
	for range n {
		w := acquire(t, p, "")
		pids = append(pids, w.Pid())
		files := func(context.Context, string) ([]byte, bool) {
			entered <- struct{}{}
			return []byte("[]"), true
		}
		go func() {
			_, err := w.Start(context.Background(), js("ALL_TOOLS; "+nativeLoop), files, in(plenty))
			failed <- err
		}()
	}
	for range n {
		select {
		case <-entered:
		case err := <-failed:
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		wantGone(t, pid)
	}
	for range n {
		wantEnding(t, <-failed, wire.CodeAborted, "")
	}
	_, err := p.Acquire(context.Background(), "s", wire.Limits{})
	wantEnding(t, err, wire.CodeAborted, "")
	if err := p.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

func TestAcquireHonoursItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := NewPool(ctx, Config{GuestPath: guestPath})
	wantEnding(t, err, wire.CodeAborted, "")
}

// TestPoolUnderLoad has more sessions than cores acquire, run, break and release
// workers at once.
func TestPoolUnderLoad(t *testing.T) {
	p := newPool(t, Config{})
	var wg sync.WaitGroup
	for s := range 6 {
		wg.Go(func() {
			for i := range 8 {
				if err := oneRound(p, fmt.Sprint("session ", s%3), i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func oneRound(p *Pool, session string, i int) error {
	w, err := p.Acquire(context.Background(), session, wire.Limits{})
	if err != nil {
		return err
	}
	defer p.Release(w)
	source, want := fmt.Sprintf("const mine = globalThis.mark; globalThis.mark = 1; return [%d, typeof mine]", i), fmt.Sprintf(`[%d,"undefined"]`, i)
	if i%4 == 3 {
		source, want = "throw new Error('x')", ""
	}
	r, err := w.Start(context.Background(), js(source), nil, in(plenty))
	if err != nil {
		return err
	}
	if string(r.Value) != want {
		return fmt.Errorf("value %s, want %s, error %+v", r.Value, want, r.Err)
	}
	return nil
}

func TestBuildIDNamesTheExecutable(t *testing.T) {
	self, err := os.Executable() // not a worker that happens to be next to it
	if err != nil {
		t.Fatal(err)
	}
	named := Config{GuestPath: cmp.Or(guestPath, self)}
	a, b := newPool(t, named), newPool(t, named)
	if a.BuildID() != b.BuildID() || a.BuildID() == [32]byte{} {
		t.Error("two pools of one executable have different build ids")
	}
	if c := newPool(t, hostileConfig(t, "silent")); guestPath == "" && c.BuildID() != a.BuildID() {
		t.Error("the build id depends on the path")
	}
}

func TestEndingsMatchByCode(t *testing.T) {
	e := crashed("x")
	if !errors.Is(e, &WorkerError{Code: wire.CodeRuntimeUnavailable}) || !errors.Is(e, &WorkerError{Code: wire.CodeRuntimeUnavailable, Reason: wire.ReasonWorkerCrashed}) {
		t.Error("an ending does not match its own code")
	}
	if errors.Is(e, &WorkerError{Code: wire.CodeTimeout}) || errors.Is(e, &WorkerError{Code: wire.CodeRuntimeUnavailable, Reason: wire.ReasonSandboxViolation}) {
		t.Error("an ending matches another one")
	}
}
