package hostile_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/hostile"
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
				l.stops = append(l.stops, stops(v, endless, n)...)
			}
			b.ReportMetric(float64(l.quantile(0.50).Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(l.quantile(0.99).Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(l.quantile(1).Microseconds())/1000, "max-ms")
			l.print()
		})
	}
}

// stop says how late a program was stopped.
type stop struct {
	late    time.Duration
	program string
}

// stops runs the programs, n at a time, and returns how late those were stopped
// that timed out. One that was stopped early, with its own words, counts as zero.
func stops(v victims, programs []hostile.Program, n int) []stop {
	work := make(chan hostile.Program)
	found := make(chan stop)
	for i := range n {
		go func() {
			for p := range work {
				s := stop{late: -1, program: p.String()}
				if r, took := v.attack(p, host.Session{SessionID: fmt.Sprint(i)}); r.Code == codemode.CodeTimeout {
					s.late = max(took-deadline, 0)
				}
				found <- s
			}
		}()
	}
	go func() {
		for _, p := range programs {
			work <- p
		}
		close(work)
	}()
	var all []stop
	for range programs {
		if s := <-found; s.late >= 0 {
			all = append(all, s)
		}
	}
	return all
}

type lateness struct {
	name  string
	stops []stop
}

func byLateness(a, b stop) int { return cmp.Compare(a.late, b.late) }

func (l *lateness) quantile(q float64) time.Duration {
	if len(l.stops) == 0 {
		return 0
	}
	slices.SortFunc(l.stops, byLateness)
	return l.stops[min(len(l.stops)-1, int(q*float64(len(l.stops))))].late
}

func (l *lateness) print() {
	ms := func(q float64) float64 { return float64(l.quantile(q).Microseconds()) / 1000 }
	fmt.Printf("\nstopped after the deadline of %v, %s: n %d, p50 %.1f ms, p99 %.1f ms, max %.1f ms\n",
		deadline, l.name, len(l.stops), ms(0.50), ms(0.99), ms(1))
	for _, s := range l.stops[max(0, len(l.stops)-3):] {
		fmt.Printf("  %.1f ms: %s\n", float64(s.late.Microseconds())/1000, s.program)
	}
}
