package host_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// TestAHostileWorkerHarmsItsRunAlone: what a worker that was taken over says of itself
// neither panics nor locks the host.
func TestAHostileWorkerHarmsItsRunAlone(t *testing.T) {
	t.Parallel()
	h := start(t, hostileConfig(t, ""))
	for _, mode := range []string{"cpu 18446744073709551615", "cpu 9223372036854775808", "cpu 9223372036854776", "heap 18446744073709551615", "trail 20000", "forged-ids"} {
		r := h.Exec(context.Background(), mallory, host.ExecInput{Code: mode, Timeout: 2 * time.Second, Wait: 2 * time.Second})
		if r.Telemetry.GuestCPUMillis < 0 || r.Telemetry.PeakHeapBytes > 1<<30 {
			t.Errorf("%s: %s", mode, show(r))
		}
		if _, err := h.Metrics().Gather(); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if runs, err := h.Runs().List(context.Background(), mallory); err != nil || len(runs) != 0 {
			t.Errorf("%s: runs %v, %v", mode, runs, err)
		}
	}
	if n := metricOf(t, h, "quoin_panics_total", ""); n != 0 {
		t.Errorf("%v panics", n)
	}
}

// resident is the memory of this process, in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// TestMemoryHolds: under attacks on the memory of the host, what it holds stays below
// its budget. Run it with -v for figures.
func TestMemoryHolds(t *testing.T) {
	hosttest.Serial(t, "it measures the memory of the process")
	if testing.Short() {
		t.Skip("attacks on the memory of the host; make test-all runs it")
	}
	const mib = 1 << 20
	const budget = 64 * mib
	attack := func(t *testing.T, h *host.Host, do func()) {
		before, rss := heap(), resident(t)
		do()
		at := resident(t)
		more := heap() - before
		if more > budget {
			t.Errorf("the host holds %d MiB more, of a budget of %d", more/mib, budget/mib)
		}
		if held := h.Engine().Taken()["bytes"]; held > budget/2 {
			t.Errorf("mallory holds %d MiB", held/mib)
		}
		t.Logf("resident %d MiB before, %d after; live %+d MiB, charged %d MiB", rss/mib, at/mib, more/mib, h.Engine().Taken()["bytes"]/mib)
	}
	t.Run("small items of large reports", func(t *testing.T) {
		h := start(t, host.Config{Quotas: host.Quotas{HeldBytes: budget}})
		attack(t, h, func() {
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					r := h.Exec(context.Background(), mallory, host.ExecInput{
						Code: `const b = "x".repeat(4 << 20); for (let i = 0; i < 16; i++) { text("x"); await tools.call("nope", {a: b}).catch(() => {}) } await yield_control()`})
					if len(r.Output) == 0 {
						t.Errorf("%s", show(r))
					}
				})
			}
			all.Wait()
		})
	})
	t.Run("inputs that wait for their caller", func(t *testing.T) {
		h := start(t, host.Config{Quotas: host.Quotas{HeldBytes: budget}})
		attack(t, h, func() {
			var all sync.WaitGroup
			for range 6 {
				all.Go(func() {
					r := h.Exec(context.Background(), mallory, host.ExecInput{
						Code:    `const a = "x".repeat(3 << 20); await Promise.allSettled(Array.from({length: 8}, () => tools.ask({a})))`,
						Tools:   []catalog.Tool{{Name: "ask", Description: "Asks."}},
						Timeout: 3 * time.Second, Wait: 3 * time.Second})
					if n := len(show(r)); n > 128<<10 {
						t.Errorf("a result of %d bytes", n)
					}
				})
			}
			all.Wait()
		})
	})
	t.Run("a worker that pins", func(t *testing.T) {
		cfg := hostileConfig(t, "")
		cfg.Quotas = host.Quotas{HeldBytes: budget}
		h := start(t, cfg)
		attack(t, h, func() {
			r := h.Exec(context.Background(), mallory, host.ExecInput{Code: fmt.Sprint("pin ", 8*mib), Timeout: 3 * time.Second, Wait: 3 * time.Second})
			if r.Status == host.StatusCompleted {
				t.Errorf("%s", show(r))
			}
			runtime.KeepAlive(r)
		})
	})
}
