//go:build unix

package peers

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// table is what the peers make of the cells.
type table struct {
	peers []peer
	rows  []row
}

// row holds the figures of one cell, by peer and round.
type row struct {
	cell    string
	figures map[string][]figure
}

// add runs a cell in every peer that can, in turns.
func (t *table) add(b *testing.B, cell string) {
	b.Helper()
	r := row{cell, map[string][]figure{}}
	program, n := filepath.Ext(cell) == ".js", shortTimes
	if program {
		n = times
	}
	for range rounds {
		for _, p := range t.peers {
			if !program && !p.short {
				continue
			}
			f := p.run(b, cell, n)
			if len(f.Micros) == 0 {
				b.Fatalf("%s: %s has no figure", cell, p.name)
			}
			if first := r.figures[t.peers[0].name]; len(first) > 0 && first[0].Check != f.Check {
				b.Errorf("%s: %s says %s, %s says %s", cell, t.peers[0].name, first[0].Check, p.name, f.Check)
			}
			r.figures[p.name] = append(r.figures[p.name], f)
		}
	}
	t.rows = append(t.rows, r)
}

// print prints milliseconds, and for each peer but the first the ratio of the
// first's time to its own: the median of the rounds' ratios.
func (t *table) print(b *testing.B) {
	b.Helper()
	fmt.Printf("\nPrograms in processor time, the others in wall time: milliseconds, medians.\n\n| cell |")
	for _, p := range t.peers {
		fmt.Printf(" %s |", p.name)
	}
	fmt.Printf("\n|---|%s\n", strings.Repeat("---:|", len(t.peers)))
	for _, r := range t.rows {
		fmt.Printf("| %s |", filepath.Base(r.cell))
		for _, p := range t.peers {
			fmt.Printf(" %s |", r.written(p.name))
		}
		fmt.Println()
	}
	for i, base := range t.peers {
		if i > 0 {
			t.ratios(b, base)
		}
	}
}

// ratios prints every peer's time over the base's.
func (t *table) ratios(b *testing.B, base peer) {
	b.Helper()
	fmt.Printf("\nTime over that of %s.\n\n| cell |", base.name)
	var others []peer
	for _, p := range t.peers {
		if p.name != base.name {
			others = append(others, p)
			fmt.Printf(" %s |", p.name)
		}
	}
	fmt.Printf("\n|---|%s\n", strings.Repeat("---:|", len(others)))
	logs, programs := make([]float64, len(others)), 0
	for _, r := range t.rows {
		if len(r.figures[base.name]) == 0 {
			continue
		}
		fmt.Printf("| %s |", filepath.Base(r.cell))
		isProgram := filepath.Ext(r.cell) == ".js"
		if isProgram {
			programs++
		}
		for i, p := range others {
			if len(r.figures[p.name]) == 0 {
				fmt.Print(" - |")
				continue
			}
			ratio := r.ratio(p.name, base.name)
			if isProgram {
				logs[i] += math.Log(ratio)
			}
			fmt.Printf(" %.2f |", ratio)
		}
		fmt.Println()
	}
	fmt.Print("| geometric mean of the programs |")
	for i, p := range others {
		mean := math.Exp(logs[i] / float64(programs))
		fmt.Printf(" %.2f |", mean)
		b.ReportMetric(mean, strings.ReplaceAll(p.name+"/"+base.name, " ", "-")) // a unit has no spaces
	}
	fmt.Println()
}

// ratio is the median over the rounds of the ratio of two peers' times.
func (r row) ratio(peer, base string) float64 {
	var out []float64
	for i, f := range r.figures[peer] {
		out = append(out, median(f.Micros)/median(r.figures[base][i].Micros))
	}
	return median(out)
}

func (r row) written(peer string) string {
	figures := r.figures[peer]
	if len(figures) == 0 {
		return "-"
	}
	var all []float64
	for _, f := range figures {
		all = append(all, median(f.Micros))
	}
	text := fmt.Sprintf("%.3f", median(all)/1000)
	if n := figures[0].Bytes; n > 0 {
		text += fmt.Sprintf(", %d bytes", n)
	}
	return text
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
