//go:build unix

package peers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	rounds     = 5   // of all peers, in turns
	times      = 3   // a program in one round
	shortTimes = 200 // what is short in one round
)

// figure is what one peer makes of one cell.
type figure struct {
	Micros []float64 `json:"micros"` // of each run
	Check  string    `json:"check"`  // the program's result
	Bytes  int       `json:"bytes"`  // of an image, as stored
}

// peer is an engine that runs cells.
type peer struct {
	name  string
	short bool // whether it can be created, suspended and restored as ours can
	run   func(b *testing.B, cell string, n int) figure
}

// The short cells, by name.
var shortCells = []string{"create", "snapshot", "restore"}

// BenchmarkPeers prints one table of the short cells and our programs, and one of
// the V8-v7 set. The first has the sub-benchmark's name Programs, the second Set.
func BenchmarkPeers(b *testing.B) {
	all := findPeers(b)
	b.Run("Programs", func(b *testing.B) {
		programs := must(filepath.Glob("testdata/programs/*.js"))(b)
		if len(programs) == 0 {
			b.Fatal("no programs")
		}
		compare(b, all, append(slices.Clone(shortCells), programs...))
	})
	b.Run("Set", func(b *testing.B) { compare(b, all, writeSet(b)) })
}

// findPeers makes every peer ready that can be had here, and says which cannot.
func findPeers(b *testing.B) []peer {
	b.Helper()
	all := []peer{{"default", true, runOurs}}
	for _, find := range []func(*testing.B) (peer, error){findNative, findWASI, findC, findBellard, findGo} {
		p, err := find(b)
		if err != nil {
			fmt.Printf("%s is LEFT OUT: %v\n", p.name, err)
			continue
		}
		all = append(all, p)
	}
	return all
}

// compare runs every cell in every peer, in turns, and prints the table.
func compare(b *testing.B, all []peer, cells []string) {
	b.Helper()
	t := table{peers: all}
	for _, cell := range cells {
		t.add(b, cell)
	}
	t.print(b)
}

// readFigure runs a program that prints a figure.
func readFigure(b *testing.B, cmd *exec.Cmd) figure {
	b.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, errs.Bytes())
	}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		text := strings.TrimPrefix(lines.Text(), figureMark)
		if !strings.HasPrefix(text, "{") {
			continue
		}
		var f figure
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			b.Fatalf("%s printed %q: %v", cmd.Args[0], text, err)
		}
		return f
	}
	b.Fatalf("%s printed no figure", strings.Join(cmd.Args, " "))
	return figure{}
}

// findWASI installs quickjs-wasi into a temporary folder.
func findWASI(b *testing.B) (peer, error) {
	b.Helper()
	p := peer{name: "quickjs-wasi", short: true}
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return p, fmt.Errorf("%s is not installed", tool)
		}
	}
	dir := b.TempDir()
	for _, name := range []string{"package.json", "peer.mjs"} {
		data := must(os.ReadFile(filepath.Join("testdata", name)))(b)
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	npm := exec.Command("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return p, fmt.Errorf("it cannot be installed from the npm registry: %w\n%s", err, out)
	}
	p.run = func(b *testing.B, cell string, n int) figure {
		node := exec.Command("node", "peer.mjs", absolute(b, cell), strconv.Itoa(n))
		node.Dir = dir
		return readFigure(b, node)
	}
	return p, nil
}

// absolute is a program's file as a process in another folder finds it.
func absolute(b *testing.B, cell string) string {
	b.Helper()
	if slices.Contains(shortCells, cell) {
		return cell
	}
	return must(filepath.Abs(cell))(b)
}
