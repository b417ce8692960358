package bench_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
)

// manySuspended is more runs than any case here suspends.
var manySuspended = host.Settings{MaxSuspended: 1_000_000}

const yields = `await yield_control(); return 42`

func BenchmarkSuspend(b *testing.B) {
	h := newHost(b, host.Config{Settings: manySuspended})
	suspend := execOf(h, yields)
	b.Run("exec to waiting", func(b *testing.B) {
		measure(b, row{name: "exec to waiting", goal: "<= 1 ms"}, suspend, host.StatusWaiting)
	})
	b.Run("wait to completed", func(b *testing.B) {
		measure(b, row{name: "wait to completed", goal: "<= 1 ms"}, func() (time.Duration, *host.Result) {
			_, r := suspend()
			start := time.Now()
			r = h.Wait(context.Background(), session, r.RunID)
			return time.Since(start), r
		}, host.StatusCompleted)
	})
}

// BenchmarkSuspendStored suspends into a directory and looks at what is there.
func BenchmarkSuspendStored(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "runs")
	store, err := runstore.OpenDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	h := newHost(b, host.Config{Store: store, Settings: manySuspended})
	var last *host.Result
	for b.Loop() {
		if _, last = execOf(h, yields)(); last.Status != host.StatusWaiting {
			b.Fatalf("got %s %s", last.Status, last.Error)
		}
	}
	stored := bytesOf(b, filepath.Join(dir, last.RunID+"*"))
	b.ReportMetric(float64(stored), "bytes/run")
	table.add(&row{name: "suspended run, bytes stored", goal: "<= 8,192", value: fmt.Sprint(stored), n: 1})
}

// bytesOf sums up the files that match pattern.
func bytesOf(b *testing.B, pattern string) (sum int64) {
	b.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		b.Fatalf("no file %s: %v", pattern, err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			b.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}

// BenchmarkSuspendedRunsPerGigabyte suspends many runs in one host and takes
// what each keeps alive in the host's memory. How many fit into a gigabyte is
// computed from that.
func BenchmarkSuspendedRunsPerGigabyte(b *testing.B) {
	const runs = 20_000
	h := newHost(b, host.Config{Settings: manySuspended})
	suspend := execOf(h, yields)
	suspend()
	for b.Loop() {
		before := liveBytes()
		for range runs {
			if _, r := suspend(); r.Status != host.StatusWaiting {
				b.Fatalf("got %s %s", r.Status, r.Error)
			}
		}
		per := float64(liveBytes()-before) / runs
		b.ReportMetric(per, "bytes/run")
		table.add(&row{
			name: "suspended runs in 1 GB, from 20,000", goal: ">= 50,000",
			value: fmt.Sprintf("%.0f (%.1f KB each)", (1<<30)/per, per/1024), n: runs,
		})
	}
}

// liveBytes is the memory that is reachable in this process.
func liveBytes() uint64 {
	runtime.GC()
	runtime.GC() // pools give up what they hold at the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

const fiveCalls = `for (let i = 0; i < 5; i++) await tools.nothing(); return 42`

// BenchmarkResumedCalls makes five calls, one after the other, in a run that was
// never suspended and in a resumed one in memory. A store that outlives the host has a
// checkpoint before each call and the answer after it: see BenchmarkStores.
func BenchmarkResumedCalls(b *testing.B) {
	h := newHost(b, host.Config{Settings: manySuspended, Tools: []catalog.Tool{nothing}})
	b.Run("never suspended", func(b *testing.B) {
		measure(b, row{name: "5 calls of a run never suspended", goal: "none"}, execOf(h, fiveCalls), host.StatusCompleted)
	})
	b.Run("memory", func(b *testing.B) {
		measure(b, row{name: "5 calls of a resumed run, memory", goal: "none"}, func() (time.Duration, *host.Result) {
			_, r := execOf(h, "await yield_control(); "+fiveCalls)()
			start := time.Now()
			r = h.Wait(context.Background(), session, r.RunID)
			return time.Since(start), r
		}, host.StatusCompleted)
	})
}
