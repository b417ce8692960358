package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/sqlite"
)

// pairs is how often both stores are measured, in turns.
const pairs = 9

// issues is an answer of 4 MiB, as tools give it.
func issues() json.RawMessage {
	var b strings.Builder
	for i := 0; b.Len() < 4<<20; i++ {
		fmt.Fprintf(&b, `{"id":%d,"title":"Issue %x about %d","state":"open","assignee":"user%d","createdAt":"2026-11-%02dT10:%02d:00Z"},`,
			i*7919, i*2654435761, i%97, i%13, i%28+1, i%60)
	}
	return json.RawMessage("[" + strings.TrimSuffix(b.String(), ",") + "]")
}

// BenchmarkStateFile measures the directory and the file of one machine in turns: how much more
// time and processor time the file takes.
func BenchmarkStateFile(b *testing.B) {
	dir := b.TempDir()
	files, err := runstore.OpenDir(filepath.Join(dir, "runs"))
	if err != nil {
		b.Fatal(err)
	}
	db, err := sqlite.Open(b.Context(), filepath.Join(dir, "state"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	answer := issues()
	large := catalog.Tool{
		Name: "large", Description: "Returns 4 MiB.",
		Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) { return answer, nil },
	}
	var hosts [2]*host.Host
	for i, s := range []runstore.Store{files, db} {
		hosts[i] = newHost(b, host.Config{Store: s, Settings: host.Settings{MaxSuspended: 1_000_000, Timeout: time.Minute}, Tools: []catalog.Tool{nothing, large}})
	}
	for _, c := range []struct {
		name  string
		times int
		op    func(h *host.Host)
	}{
		{"exec to waiting", 300, func(h *host.Host) { _, _ = execOf(h, yields)() }},
		{"exec and wait", 300, func(h *host.Host) { complete(b, h, yields) }},
		{"5 calls of a resumed run", 100, func(h *host.Host) { complete(b, h, "await yield_control(); "+fiveCalls) }},
		{"16 sessions that suspend at once", 20, func(h *host.Host) {
			var all sync.WaitGroup
			for i := range 16 {
				all.Go(func() {
					h.Exec(context.Background(), host.Session{SessionID: fmt.Sprint("session ", i)}, host.ExecInput{Code: yields})
				})
			}
			all.Wait()
		}},
		{"24 answers of 4 MiB", 1, func(h *host.Host) {
			complete(b, h, `await yield_control(); return (await Promise.all(Array.from({length: 24}, () => tools.large()))).length`)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				wall, processor := inTurns(b, hosts, c.times, c.op)
				b.ReportMetric(wall, "x-time")
				b.ReportMetric(processor, "x-processor")
				table.add(&row{name: c.name + ", file against directory", goal: "<= 1.2", value: fmt.Sprintf("%.2f of the time, %.2f of the processor time", wall, processor), n: pairs})
			}
		})
	}
}

// complete runs code to its end.
func complete(b *testing.B, h *host.Host, code string) {
	b.Helper()
	_, r := execOf(h, code)()
	for r.Status == host.StatusWaiting {
		r = h.Wait(context.Background(), session, r.RunID)
	}
	if r.Status != host.StatusCompleted {
		b.Fatalf("got %s %s", r.Status, r.Error)
	}
}

// inTurns is the median of what the second host takes more than the first.
func inTurns(b *testing.B, hosts [2]*host.Host, times int, op func(*host.Host)) (wall, processor float64) {
	b.Helper()
	var walls, processors []float64
	for i := range pairs {
		var took, used [2]time.Duration
		for j := range hosts {
			h := (i + j) % 2
			start, before := time.Now(), processorTime(b)
			for range times {
				op(hosts[h])
			}
			took[h], used[h] = time.Since(start), processorTime(b)-before
		}
		walls = append(walls, float64(took[1])/float64(took[0]))
		processors = append(processors, float64(used[1])/float64(used[0]))
	}
	return median(walls), median(processors)
}

func median(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }
