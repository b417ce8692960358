package soak_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// TestManySuspendedRuns suspends many runs on one host with a directory store,
// and resumes a sample of them on that host and on the next one.
func TestManySuspendedRuns(t *testing.T) {
	dir, guest := install(t)
	begin := func() *host.Host {
		cfg, err := config(dir, guest)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Settings.MaxSuspended, cfg.Settings.SnapshotTTL = manySuspended, time.Hour
		h, err := host.New(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := begin()
	before, err := hosttest.MeasureUsage()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	ids := make([]string, manySuspended)
	next := make(chan int)
	var wg sync.WaitGroup
	for w := range 4 {
		s := host.Session{SessionID: fmt.Sprint("suspended ", w)}
		wg.Go(func() {
			for i := range next {
				code := fmt.Sprintf(`const kept = { n: %d }; await yield_control(); return kept.n`, i)
				r := h.Exec(context.Background(), s, host.ExecInput{Code: code})
				if r.Status != host.StatusWaiting {
					t.Errorf("run %d: %s", i, show(r))
				}
				ids[i] = s.SessionID + "\n" + r.RunID
			}
		})
	}
	for i := range manySuspended {
		next <- i
	}
	close(next)
	wg.Wait()
	after, err := hosttest.MeasureUsage()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs suspended in %s; the host holds %d MiB more", manySuspended, time.Since(began).Round(time.Second), (after.Resident-before.Resident)>>20)

	resume := func(h *host.Host, from int) {
		for i := from; i < manySuspended; i += manySuspended / 100 {
			session, id, _ := strings.Cut(ids[i], "\n")
			if r := h.Wait(context.Background(), host.Session{SessionID: session}, id); string(r.Value) != fmt.Sprint(i) {
				t.Errorf("run %d: %s", i, show(r))
			}
		}
	}
	resume(h, 0)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = begin()
	resume(h, 1)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}
