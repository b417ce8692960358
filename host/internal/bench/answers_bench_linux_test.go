package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
)

// BenchmarkResumedAnswers makes 144 calls at once in a resumed run, as many as may
// be pending. Each returns 4 MiB. It checks and looks at what its store has written.
func BenchmarkResumedAnswers(b *testing.B) {
	const calls, size = 144, 4 << 20
	answer := json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)
	store, err := runstore.OpenDir(filepath.Join(b.TempDir(), "runs"))
	if err != nil {
		b.Fatal(err)
	}
	h := newHost(b, host.Config{
		Store: store, Settings: host.Settings{Timeout: time.Minute},
		Tools: []catalog.Tool{{
			Name: "large", Description: "Returns 4 MiB.",
			Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) { return answer, nil },
		}},
	})
	code := fmt.Sprintf(`await yield_control();
const sizes = await Promise.all(Array.from({length: %d}, () => tools.large().then(s => s.length)));
return sizes.reduce((a, b) => a + b, 0)`, calls)
	for b.Loop() {
		_, r := execOf(h, code)()
		before, start := writtenBytes(b), time.Now()
		for r.Status == host.StatusWaiting { // a slow machine takes more than one
			r = h.Wait(context.Background(), session, r.RunID)
		}
		if string(r.Value) != fmt.Sprint(calls*(size-2)) {
			b.Fatalf("got %s %s %s", r.Status, r.Error, r.Value)
		}
		took, written := time.Since(start), writtenBytes(b)-before
		b.ReportMetric(float64(written)/(1<<20), "MiB-written")
		table.add(&row{
			name: "144 answers of 4 MiB in a resumed run, directory store", goal: "none",
			value: fmt.Sprintf("%d MiB written, %.1f s", written>>20, took.Seconds()), n: 1,
		})
	}
}

// writtenBytes is how much this process has had written to storage.
func writtenBytes(b *testing.B) (n int64) {
	b.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			if _, err := fmt.Sscan(v, &n); err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatal("/proc/self/io has no write_bytes")
	return 0
}
