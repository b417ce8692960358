package hostile_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt/hostile"
	"github.com/quoinhq/quoin/host"
)

// BenchmarkStops measures how long after its deadline each program that reached
// it was stopped, reaped and answered for: one program at a time, then several.
// It prints a table; make hostile runs it.
func BenchmarkStops(b *testing.B) {
	all, err := hostile.Programs()
	if err != nil {
		b.Fatal(err)
	}
	endless := slices.DeleteFunc(all, func(p hostile.Program) bool { return !p.MayEnd("timeout") })
	for _, n := range []int{1, 4} {
		b.Run(fmt.Sprint(n, "-at-once"), func(b *testing.B) {
			v := newVictims(b, endless)
			l := lateness{name: fmt.Sprintf("%d at once", n)}
			for b.Loop() {
				l.late = append(l.late, stops(v, endless, n)...)
			}
			b.ReportMetric(float64(l.quantile(0.50).Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(l.quantile(0.99).Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(l.quantile(1).Microseconds())/1000, "max-ms")
			l.print()
		})
	}
}

// stops runs the programs, n at a time, and returns how late those were stopped
// that timed out. One that was stopped early, with its own words, counts as zero.
func stops(v victims, programs []hostile.Program, n int) []time.Duration {
	work := make(chan hostile.Program)
	found := make(chan time.Duration)
	for i := range n {
		go func() {
			for p := range work {
				late := time.Duration(-1)
				if r, took := v.attack(p, host.Session{SessionID: fmt.Sprint(i)}); r.Code == host.CodeTimeout {
					late = max(took-deadline, 0)
				}
				found <- late
			}
		}()
	}
	go func() {
		for _, p := range programs {
			work <- p
		}
		close(work)
	}()
	var late []time.Duration
	for range programs {
		if d := <-found; d >= 0 {
			late = append(late, d)
		}
	}
	return late
}

type lateness struct {
	name string
	late []time.Duration
}

func (l *lateness) quantile(q float64) time.Duration {
	if len(l.late) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l.late))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func (l *lateness) print() {
	ms := func(q float64) float64 { return float64(l.quantile(q).Microseconds()) / 1000 }
	fmt.Printf("\nstopped after the deadline of %v, %s: n %d, p50 %.1f ms, p99 %.1f ms, max %.1f ms\n",
		deadline, l.name, len(l.late), ms(0.50), ms(0.99), ms(1))
}
