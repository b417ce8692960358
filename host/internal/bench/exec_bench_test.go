package bench_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
)

var session = host.Session{SessionID: "bench"}

// warmUp is how many operations come before the first that counts.
const warmUp = 50

// measure times op, one operation after the other.
func measure(b *testing.B, r row, op func() (time.Duration, *host.Result), want codemode.Status) {
	b.Helper()
	for range warmUp {
		if _, res := op(); res.Status != want {
			b.Fatalf("got %s %s, want %s", res.Status, res.Error, want)
		}
	}
	s := newSamples(r)
	for b.Loop() {
		d, res := op()
		if res.Status != want {
			b.Fatalf("got %s %s, want %s", res.Status, res.Error, want)
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

const trivial = "`return 1+1`"

func BenchmarkExecTrivial(b *testing.B) {
	h := newHost(b, host.Config{})
	measure(b, row{name: trivial, goal: "p50 <= 0.5, p99 <= 3 ms"}, execOf(h, `return 1+1`), host.StatusCompleted)
}

func BenchmarkExecTrivialTenThousandTools(b *testing.B) {
	h := newHost(b, host.Config{Tools: manyTools(10_000)})
	measure(b, row{name: "same, 10,000 tools", goal: "<= 1.2x the small catalog", than: trivial}, execOf(h, `return 1+1`), host.StatusCompleted)
}

func BenchmarkExecTypeScript(b *testing.B) {
	h := newHost(b, host.Config{})
	measure(b, row{name: "same, in TypeScript", goal: "none"}, func() (time.Duration, *host.Result) {
		start := time.Now()
		r := h.Exec(context.Background(), session, host.ExecInput{Code: `const n: number = 1; return n + 1`, Language: "typescript"})
		return time.Since(start), r
	}, host.StatusCompleted)
}

func BenchmarkExecPluginCall(b *testing.B) {
	h := newHost(b, host.Config{Plugins: host.PluginConfig{Dir: pluginDir(b)}})
	for _, c := range []struct{ name, goal, code string }{
		{"one plugin tool call", "p50 <= 1 ms", `return (await Echo.call(1)).n`},
		{"5 sequential calls", "<= 1.5 ms", `let s = 0; for (let i = 0; i < 5; i++) s += (await Echo.call(i)).n; return s`},
		{"16 parallel calls", "<= 2 ms", `return (await Promise.all(Array.from({length: 16}, (_, i) => Echo.call(i)))).length`},
	} {
		b.Run(c.name, func(b *testing.B) {
			measure(b, row{name: c.name, goal: c.goal}, execOf(h, c.code), host.StatusCompleted)
		})
	}
}

// BenchmarkCellsPerSecond runs cells in as many sessions as there are
// processors, each in a fresh guest.
func BenchmarkCellsPerSecond(b *testing.B) {
	sessions := runtime.GOMAXPROCS(0)
	h := newHost(b, host.Config{Guests: host.GuestConfig{Prepared: sessions}})
	var last atomic.Int64
	cells := func(more func() bool) {
		s := host.Session{SessionID: fmt.Sprint("session ", last.Add(1))}
		for more() {
			if r := h.Exec(context.Background(), s, host.ExecInput{Code: `return 1+1`}); r.Status != host.StatusCompleted {
				b.Errorf("got %s %s", r.Status, r.Error)
				return
			}
		}
	}
	b.RunParallel(func(pb *testing.PB) { cells(pb.Next) })
	perSecond := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(perSecond, "cells/s")
	table.add(&row{
		name: fmt.Sprintf("cells per second, %d sessions at once", sessions), goal: ">= 1,500",
		value: fmt.Sprintf("%.0f /s", perSecond), n: b.N,
	})
}
