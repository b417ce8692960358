//go:build unix

package peers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

const (
	rounds     = 3   // of both engines, in turns
	times      = 5   // a program in one round
	shortTimes = 200 // what is short in one round
)

// BenchmarkPeers prints one table.
func BenchmarkPeers(b *testing.B) {
	dir := installPeer(b)
	programs := readPrograms(b)
	o := newOurs(b)
	var mine, theirs []map[string]figure
	for range rounds {
		theirs = append(theirs, runPeer(b, dir))
		mine = append(mine, o.run(programs))
	}
	compare(b, mine, theirs)
}

// installPeer installs the peer into a temporary folder.
func installPeer(b *testing.B) string {
	b.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			b.Skipf("%s is not installed: the peer is a package for Node.js", tool)
		}
	}
	dir := b.TempDir()
	for _, name := range []string{"package.json", "peer.mjs"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	npm := exec.Command("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		b.Skipf("the peer cannot be installed from the npm registry: %v\n%s", err, out)
	}
	return dir
}

// runPeer runs the cells in the peer, in a process of its own.
func runPeer(b *testing.B, dir string) map[string]figure {
	b.Helper()
	folder, err := filepath.Abs("testdata/programs")
	if err != nil {
		b.Fatal(err)
	}
	node := exec.Command("node", "peer.mjs", folder, strconv.Itoa(times), strconv.Itoa(shortTimes))
	node.Dir, node.Stderr = dir, os.Stderr
	out, err := node.Output()
	if err != nil {
		b.Fatalf("the peer failed: %v", err)
	}
	figures := map[string]figure{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var f figure
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			b.Fatalf("the peer printed %q: %v", lines.Text(), err)
		}
		figures[f.Cell] = f
	}
	return figures
}

func readPrograms(b *testing.B) map[string]string {
	b.Helper()
	files, err := filepath.Glob("testdata/programs/*.js")
	if err != nil || len(files) == 0 {
		b.Fatalf("no programs: %v", err)
	}
	programs := map[string]string{}
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		programs[filepath.Base(name)] = string(source)
	}
	return programs
}

// compare prints the medians of the rounds, ours over theirs, and the geometric
// mean of the programs' ratios.
func compare(b *testing.B, mine, theirs []map[string]figure) {
	b.Helper()
	fmt.Printf("\nPrograms in processor time, the others in wall time; medians.\n\n| cell | quoin | quickjs-wasi | ratio |\n|---|---:|---:|---:|\n")
	logs, programs := 0.0, 0
	for _, cell := range slices.Sorted(maps.Keys(mine[0])) {
		m, t := mine[0][cell], theirs[0][cell]
		if m.Check != t.Check {
			b.Errorf("%s: we say %s, they say %s", cell, m.Check, t.Check)
		}
		ratio := median(mine, cell) / median(theirs, cell)
		if filepath.Ext(cell) == ".js" {
			logs, programs = logs+math.Log(ratio), programs+1
		}
		fmt.Printf("| %s | %s | %s | %.2f |\n", cell, written(median(mine, cell), m), written(median(theirs, cell), t), ratio)
	}
	mean := math.Exp(logs / float64(programs))
	fmt.Printf("| geometric mean of the programs | | | %.2f |\n", mean)
	b.ReportMetric(mean, "ratio")
}

func median(rounds []map[string]figure, cell string) float64 {
	var micros []float64
	for _, r := range rounds {
		micros = append(micros, r[cell].Micros)
	}
	slices.Sort(micros)
	return micros[len(micros)/2]
}

func written(micros float64, f figure) string {
	text := fmt.Sprintf("%.3f ms", micros/1000)
	if f.Bytes > 0 {
		text += fmt.Sprintf(", %d bytes", f.Bytes)
	}
	return text
}
