package bench_test

import (
	"context"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
)

var session = host.Session{SessionID: "bench"}

// warmUp is how many operations come before the first that counts.
const warmUp = 50

// measure times op, one operation after the other.
func measure(b *testing.B, name, goal string, op func() (time.Duration, *host.Result), want host.Status) {
	b.Helper()
	b.ReportAllocs()
	s := &samples{name: name, goal: goal}
	for range warmUp {
		if _, r := op(); r.Status != want {
			b.Fatalf("got %s %s, want %s", r.Status, r.Error, want)
		}
	}
	for b.Loop() {
		d, r := op()
		if r.Status != want {
			b.Fatalf("got %s %s, want %s", r.Status, r.Error, want)
		}
		s.d = append(s.d, d)
	}
	s.report(b)
}

// execOf is the operation of running a program to its end.
func execOf(h *host.Host, code string) func() (time.Duration, *host.Result) {
	return func() (time.Duration, *host.Result) {
		start := time.Now()
		r := h.Exec(context.Background(), session, host.ExecInput{Code: code})
		return time.Since(start), r
	}
}

func BenchmarkExecTrivial(b *testing.B) {
	h := newHost(b, host.Config{})
	measure(b, "`return 1+1`", "p50 <= 0.5, p99 <= 3", execOf(h, `return 1+1`), host.StatusCompleted)
}

func BenchmarkExecTrivialTenThousandTools(b *testing.B) {
	h := newHost(b, host.Config{Tools: manyTools(10_000)})
	measure(b, "same, 10,000 tools", "<= 1.2x the small catalog", execOf(h, `return 1+1`), host.StatusCompleted)
}

func BenchmarkExecPluginCall(b *testing.B) {
	h := newHost(b, host.Config{PluginDir: pluginDir(b)})
	for _, c := range []struct{ name, goal, code string }{
		{"one plugin tool call", "p50 <= 1", `return (await Echo.call(1)).n`},
		{"5 sequential calls", "<= 1.5", `let s = 0; for (let i = 0; i < 5; i++) s += (await Echo.call(i)).n; return s`},
		{"16 parallel calls", "<= 2", `return (await Promise.all(Array.from({length: 16}, (_, i) => Echo.call(i)))).length`},
	} {
		b.Run(c.name, func(b *testing.B) {
			measure(b, c.name, c.goal, execOf(h, c.code), host.StatusCompleted)
		})
	}
}

func BenchmarkSuspend(b *testing.B) {
	h := newHost(b, host.Config{Settings: host.Settings{MaxSuspended: 1_000_000}})
	suspend := execOf(h, `await yield_control(); return 42`)
	b.Run("exec to waiting", func(b *testing.B) {
		measure(b, "exec to waiting", "<= 1", suspend, host.StatusWaiting)
	})
	b.Run("wait to completed", func(b *testing.B) {
		measure(b, "wait to completed", "<= 1", func() (time.Duration, *host.Result) {
			_, r := suspend()
			start := time.Now()
			r = h.Wait(context.Background(), session, r.RunID)
			return time.Since(start), r
		}, host.StatusCompleted)
	})
}
