package guestrt

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/wire"
)

// ended waits for the end of a process and returns it.
func ended(t *testing.T, p *process) *WorkerError {
	t.Helper()
	select {
	case <-p.gone:
		return p.exit
	case <-time.After(plenty):
		t.Fatalf("%v lives on", p)
		return nil
	}
}

func TestLogOfAWorkerIsCapped(t *testing.T) {
	var log lines
	c := hostileConfig(t, "")
	c.Logger = log.logger()
	p := newPool(t, c)
	w := acquire(t, p, "s")
	_, err := w.Start(context.Background(), js("loud"), nil, in(plenty))
	wantEnding(t, err, wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed)
	p.Release(w)
	if n, text := log.count(); n > maxLogLines+1 || len(text) > 2*maxLogLines*maxLogLine || !strings.Contains(text, "noise") {
		t.Errorf("%d lines, %d bytes were logged", n, len(text))
	}
}

// TestAUsedWorkerThatFloodsItsLogIsKilled: also while it waits for its session.
func TestAUsedWorkerThatFloodsItsLogIsKilled(t *testing.T) {
	p := newPool(t, hostileConfig(t, ""))
	p.checkScheduled.Store(true) // no one else looks at it
	w := acquire(t, p, "s")
	wantValue(t, start(t, w, js("linger-loud"), nil), "1")
	p.Release(w)
	if e := ended(t, w.p); e.Reason != wire.ReasonWorkerCrashed {
		t.Errorf("it ended as %+v", e)
	}
}

// TestAUsedWorkerThatIsBusyIsKilled: a worker that was taken over has no guest's
// deadline to fear once it has returned.
func TestAUsedWorkerThatIsBusyIsKilled(t *testing.T) {
	p := newPool(t, hostileConfig(t, ""))
	w := acquire(t, p, "s")
	wantValue(t, start(t, w, js("linger"), nil), "1")
	p.Release(w)
	if e := ended(t, w.p); e != errRunaway {
		t.Errorf("it ended as %+v", e)
	}
	await(t, p, func(s Stats) bool { return s.Kept == 0 && s.Retired[exitRunaway] == 1 })
}

// TestABusyWorkerIsNotLentAgain: also when its session is back before anyone has
// looked.
func TestABusyWorkerIsNotLentAgain(t *testing.T) {
	p := newPool(t, hostileConfig(t, ""))
	p.checkScheduled.Store(true) // no check comes
	w := acquire(t, p, "s")
	wantValue(t, start(t, w, js("linger"), nil), "1")
	p.Release(w)
	before, _ := w.p.meter.cpu()
	for now := before; now-before < idleCPU+100*time.Millisecond; now, _ = w.p.meter.cpu() {
		runtime.Gosched()
	}
	if again := acquire(t, p, "s"); again.Pid() == w.Pid() {
		t.Error("a worker that never rests is lent")
	}
	if e := ended(t, w.p); e != errRunaway {
		t.Errorf("it ended as %+v", e)
	}
}

// TestAWorkerThatDoesNotResetIsNotLentAgain: one that says something else than that
// it is ready.
func TestAWorkerThatDoesNotResetIsNotLentAgain(t *testing.T) {
	p := newPool(t, hostileConfig(t, ""))
	w := acquire(t, p, "s")
	wantValue(t, start(t, w, js("odd-reset"), nil), "1")
	p.Release(w)
	if again := acquire(t, p, "s"); again.Pid() == w.Pid() {
		t.Error("the worker is lent")
	}
	ended(t, w.p)
}

func TestUsedWorkersDoNotWaitForEver(t *testing.T) {
	p := newPool(t, Config{})
	p.checkScheduled.Store(true)
	w := acquire(t, p, "s")
	wantValue(t, start(t, w, js("return 1"), nil), "1")
	p.Release(w)
	p.checkKept()
	if !w.p.alive() {
		t.Fatal("a quiet worker is ended")
	}
	p.kept.each(func(l *sessionWorker) { l.since = l.since.Add(-2 * idleTime) })
	p.checkKept()
	if e := ended(t, w.p); e != errUnneeded {
		t.Errorf("it ended as %+v", e)
	}
}

// TestTheHostMeasuresProcessorTime: a worker that says it used none is charged for
// what it used, between its turns as well.
func TestTheHostMeasuresProcessorTime(t *testing.T) {
	p := newPool(t, hostileConfig(t, ""))
	w := acquire(t, p, "s")
	defer p.Release(w)
	ctx, cancel := context.WithTimeout(context.Background(), plenty)
	defer cancel()
	r, err := w.Start(ctx, js("cpu-lie"), nil, in(plenty))
	for spent := time.Duration(0); spent < 200*time.Millisecond; {
		if err != nil {
			t.Fatalf("after %v: %v", spent, err)
		}
		spent += time.Duration(r.CPUMicros) * time.Microsecond
		r, err = w.Turn(ctx, nil, in(plenty))
	}
}

func TestMoreProcessorTimeThanThereWasIsRefused(t *testing.T) {
	for _, micros := range []string{"3600000000", "9223372036854775", "9223372036854776", "18446744073709551615"} {
		p := newPool(t, hostileConfig(t, ""))
		_, err := acquire(t, p, "s").Start(context.Background(), js("cpu "+micros), nil, in(plenty))
		wantEnding(t, err, wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed)
	}
}

// TestTheLimitOfAnImageHoldsOnItsWay: a worker that sends a larger image than it was
// asked for costs the host no more than it asked for.
func TestTheLimitOfAnImageHoldsOnItsWay(t *testing.T) {
	for _, c := range []struct {
		sent    string
		allowed int
		ok      bool
	}{
		{"5000", 5000, true},
		{"5000", 4999, false},
		{"267386880", 10 << 20, false},
	} {
		p := newPool(t, hostileConfig(t, ""))
		w := acquire(t, p, "s")
		start(t, w, js("image "+c.sent), nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		image, err := w.Snapshot(context.Background(), c.allowed)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(8*c.allowed+1<<20) {
			t.Errorf("%d bytes were allocated for an image of at most %d", took, c.allowed)
		}
		if c.ok {
			if err != nil || len(image) != 5000 {
				t.Errorf("%d bytes, %v", len(image), err)
			}
			continue
		}
		wantEnding(t, err, wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed)
	}
}

// TestAGrownWorkerIsNotUsedAgain: what a process has mapped once counts against its
// limit for good.
func TestAGrownWorkerIsNotUsedAgain(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "s")
	r := start(t, w, js(`const a = []; for (let i = 0; i < 640; i++) a.push(crypto.getRandomValues(new Uint8Array(65536)));
await yield_control(); return a.length`), nil)
	if r.Status != wire.StatusIdle {
		t.Fatalf("status %d, error %+v", r.Status, r.Err)
	}
	if _, err := w.Snapshot(context.Background(), 0); err != nil { // of 40 MiB that nothing can compress
		t.Fatal(err)
	}
	now, _ := w.p.meter.memory()
	t.Logf("grown by %d MiB", (now-w.p.atReady)>>20)
	p.Release(w)
	if e := ended(t, w.p); e != errGrown {
		t.Errorf("it ended as %+v", e)
	}
	await(t, p, func(s Stats) bool { return s.Retired[exitGrown] == 1 })
}
