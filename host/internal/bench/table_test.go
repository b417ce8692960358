package bench_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
)

// row is one line of the table. If a case ran more than once, the run with the
// most operations counts.
type row struct {
	name, goal string
	n          int
	value      string // in place of p50
	p50, p99   time.Duration
	processor  time.Duration // of one operation, in all processes; 0: not measured
	allocs     string
	than       string // the case that this one's p50 and processor time are compared to
}

// results is the table.
type results struct{ rows []*row }

var table results

func (r *results) find(name string) int {
	return slices.IndexFunc(r.rows, func(x *row) bool { return x.name == name })
}

func (r *results) add(x *row) {
	switch i := r.find(x.name); {
	case i < 0:
		r.rows = append(r.rows, x)
	case x.n >= r.rows[i].n:
		r.rows[i] = x
	}
}

func (r *results) print() {
	if len(r.rows) == 0 {
		return
	}
	fmt.Printf("\n%s/%s, %d processors, %s\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	fmt.Println("| case | goal | p50 | p99 | processor | allocations | n |\n|---|---|---:|---:|---:|---:|---:|")
	for _, x := range r.rows {
		p50, p99, processor := x.value, "", ""
		if p50 == "" {
			p50, p99 = millis(x.p50), millis(x.p99)
		}
		if x.processor > 0 {
			processor = millis(x.processor)
		}
		if i := r.find(x.than); x.than != "" && i >= 0 {
			p50 += times(x.p50, r.rows[i].p50)
			processor += times(x.processor, r.rows[i].processor)
		}
		fmt.Printf("| %s | %s | %s | %s | %s | %s | %d |\n", x.name, x.goal, p50, p99, processor, x.allocs, x.n)
	}
}

// times is a duration as a multiple of another one, if both were measured.
func times(d, than time.Duration) string {
	if d == 0 || than == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.2fx)", float64(d)/float64(than))
}

func millis(d time.Duration) string { return fmt.Sprintf("%.3f ms", float64(d.Nanoseconds())/1e6) }

// samples are the durations of one case's operations.
type samples struct {
	row
	d     []time.Duration
	start runtime.MemStats
}

// newSamples starts a case. Whatever follows counts.
func newSamples(r row) *samples {
	s := &samples{row: r}
	runtime.ReadMemStats(&s.start)
	return s
}

// report adds the case to the table and its quantiles to the benchmark's line.
func (s *samples) report(b *testing.B) {
	b.Helper()
	var end runtime.MemStats
	runtime.ReadMemStats(&end)
	n := uint64(len(s.d))
	s.n = len(s.d)
	s.allocs = fmt.Sprintf("%d, %.1f KB", (end.Mallocs-s.start.Mallocs)/n, float64(end.TotalAlloc-s.start.TotalAlloc)/float64(n)/1024)
	slices.Sort(s.d)
	s.p50, s.p99 = s.d[s.n/2], s.d[min(s.n-1, s.n*99/100)]
	b.ReportMetric(float64(s.p50.Nanoseconds())/1e6, "p50-ms")
	b.ReportMetric(float64(s.p99.Nanoseconds())/1e6, "p99-ms")
	table.add(&s.row)
}
