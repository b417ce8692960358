package soak_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/hostile"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// actors is how many cells run at a time.
const actors = 4

// maxGrowth is how much memory the host may have gained since it was warm. What
// one moment's cells hold is far less.
const maxGrowth = 96 << 20

// tally counts cells over all actors.
type tally struct {
	sync.Mutex
	passed, failed, struck int
}

// TestSoak attacks one host for a while and then looks for what is left.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("load for 20 s; make test-all runs it")
	}
	dir, guest := install(t, "issues", "rude")
	programs, err := hostile.Programs()
	if err != nil {
		t.Fatal(err)
	}
	programs = slices.DeleteFunc(programs, func(p hostile.Program) bool { return p.MemoryLimit != memoryLimit })
	before := settle(t, hosttest.Usage{})
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)

	h := start(t, dir, guest)
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), *soakTime)
	defer cancel()
	k := &killer{h: h, rng: rand.New(rand.NewPCG(seed, 0))}
	var sum tally
	var wg sync.WaitGroup
	rude := &gate{every: pluginPause()}
	for i := range actors {
		a := &actor{h: h, rng: rand.New(rand.NewPCG(seed, uint64(i+1))), programs: programs, gate: rude}
		wg.Go(func() { a.soak(ctx, t, i, &sum) })
	}
	wg.Go(func() { k.work(ctx, t) })
	warm := memoryAfter(ctx, t, *soakTime/4)
	wg.Wait()

	if sum.struck > k.workers {
		t.Errorf("%d cells lost their worker, but only %d workers were killed", sum.struck, k.workers)
	}
	calm := &actor{h: h, rng: k.rng, session: host.Session{SessionID: "calm"}}
	for _, f := range good {
		if wrong := f(calm); wrong != "" {
			t.Errorf("after the soak: %s", wrong)
			sum.failed++
		}
		sum.passed++
	}
	checkSlots(t, h)
	debug.FreeOSMemory()
	end, err := hosttest.MeasureUsage()
	if err != nil {
		t.Fatal(err)
	}
	if warm > 0 && end.Resident > warm+maxGrowth {
		t.Errorf("the host has %d MiB, and had %d MiB when it was warm", end.Resident>>20, warm>>20)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if after := settle(t, before); exceeds(after, before) {
		t.Errorf("before: %+v, after: %+v", before, after)
		sum.failed++
	}
	fmt.Printf("soak of %v: %d passed, %d failed (%d workers and %d plugins killed, %d cells struck and repeated, %d MiB warm, %d MiB at the end)\n",
		time.Since(began).Round(time.Second), sum.passed, sum.failed, k.workers, k.plugins, sum.struck, warm>>20, end.Resident>>20)
}

// soak runs cells of random kinds until ctx is done.
func (a *actor) soak(ctx context.Context, t *testing.T, i int, sum *tally) {
	for ctx.Err() == nil {
		a.session = host.Session{SessionID: fmt.Sprintf("actor %d, %d", i, a.n/8)}
		kind := acts[a.rng.IntN(len(acts))]
		wrong := kind(a)
		sum.Lock()
		switch wrong {
		case "":
			sum.passed++
		case struckMark:
			sum.struck++
		default:
			sum.failed++
			t.Errorf("cell %d of actor %d: %s", a.n, i, wrong)
		}
		sum.struck += a.struck
		sum.Unlock()
		a.struck = 0
		a.n++
	}
}

// memoryAfter returns the memory of the process once d has passed, or 0 if ctx
// is done before.
func memoryAfter(ctx context.Context, t *testing.T, d time.Duration) int64 {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return 0
	}
	u, err := hosttest.MeasureUsage()
	if err != nil {
		t.Error(err)
	}
	return u.Resident
}

// checkSlots fills every place for suspended runs: none may be taken by a run
// that is over, and there is not one too many.
func checkSlots(t *testing.T, h *host.Host) {
	t.Helper()
	// One session may have half of the places.
	sessions := []host.Session{{SessionID: "slots 1"}, {SessionID: "slots 2"}}
	suspend := func(i int) *host.Result {
		return h.Exec(context.Background(), sessions[i%2], host.ExecInput{Code: `await yield_control()`})
	}
	var ids []string
	for i := range maxSuspended {
		r := suspend(i)
		if r.Status != host.StatusWaiting {
			t.Errorf("suspended run %d of %d: %s", i+1, maxSuspended, show(r))
			break
		}
		ids = append(ids, r.RunID)
	}
	if r := suspend(0); r.Reason != codemode.ReasonTooManySuspended {
		t.Errorf("one suspended run too many: %s", show(r))
	}
	for i, id := range ids {
		if r := h.Abort(context.Background(), sessions[i%2], id); r.Code != codemode.CodeAborted {
			t.Errorf("a run that is no longer needed: %s", show(r))
		}
	}
}

// settle measures what the process holds, memory aside, once it is no more than what is wanted: what
// is over ends a moment later. The zero Usage wants nothing.
func settle(t testing.TB, want hosttest.Usage) hosttest.Usage {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	want.Resident = 0
	var u hosttest.Usage
	for range 250 {
		var err error
		if u, err = hosttest.MeasureUsage(); err != nil {
			t.Fatal(err)
		}
		u.Resident = 0
		if want == (hosttest.Usage{}) || !exceeds(u, want) {
			break
		}
		<-tick.C
	}
	return u
}

// exceeds reports whether something is left that was not there before. An earlier test may have left
// something that has ended since.
func exceeds(after, before hosttest.Usage) bool {
	return after.Goroutines > before.Goroutines || after.Files > before.Files || after.Children > before.Children
}
