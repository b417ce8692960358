package repotest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const ceilingsFile = "testdata/ceilings.txt"

// measure is one number of the house.
type measure struct {
	name  string
	value int
	where string // what has the largest value, where one thing has it
	step  int    // what a ceiling is a multiple of
}

// TestCeilings fails when a number of the house is above its ceiling in testdata/ceilings.txt. With -v
// it prints both, with -update it lowers the ceilings to the numbers.
func TestCeilings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(ceilingsFile)
	if err != nil {
		t.Fatal(err)
	}
	intro, ceilings, err := parseCeilings(string(text))
	if err != nil {
		t.Fatalf("%s: %v", ceilingsFile, err)
	}
	all := append(goLines(t), wordMeasures(t)...)
	all = append(append(all, publicMeasures(t)...), typeMeasures(t)...)
	lowered, told := compare(all, ceilings)
	for _, m := range all {
		t.Logf("%-36s %8d of %8d  %s", m.name, m.value, ceilings[m.name], m.where)
	}
	if !*update {
		for _, said := range told {
			t.Error(said)
		}
		return
	}
	if err := os.WriteFile(ceilingsFile, []byte(intro+lowered), 0o644); err != nil {
		t.Fatal(err)
	}
}

// parseCeilings reads the comment at the start of the file, and rows of a name, a tab and
// a number.
func parseCeilings(text string) (intro string, ceilings map[string]int, err error) {
	ceilings = map[string]int{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") || len(ceilings) == 0 && strings.TrimSpace(line) == "" {
			intro += line
			continue
		}
		name, number, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		value, err := strconv.Atoi(number)
		if _, twice := ceilings[name]; err != nil || twice {
			return "", nil, fmt.Errorf("%q: want a name that has no other row, a tab and a number", line)
		}
		ceilings[name] = value
	}
	return intro, ceilings, nil
}

// compare returns the rows of ceilings that no longer have room to spare, and what is wrong
// with those there are.
func compare(all []measure, ceilings map[string]int) (lowered string, told []string) {
	rows := map[string]bool{}
	for _, m := range all {
		rows[m.name] = true
		today := (m.value + m.step - 1) / m.step * m.step
		ceiling, ok := ceilings[m.name]
		switch {
		case !ok:
			told = append(told, fmt.Sprintf("%s has no row in %s: run go test ./internal/repotest -run TestCeilings -update", m.name, ceilingsFile))
			ceiling = today
		case m.value > ceiling:
			told = append(told, fmt.Sprintf("%s: %d is above the ceiling of %d (%s): take something away, or raise the number in %s and say in the commit what it buys",
				m.name, m.value, ceiling, m.where, ceilingsFile))
		}
		lowered += fmt.Sprintf("%s\t%d\n", m.name, min(ceiling, today))
	}
	for name := range ceilings {
		if !rows[name] {
			told = append(told, fmt.Sprintf("%s has a row for %q, which is not measured: remove it", ceilingsFile, name))
		}
	}
	return lowered, told
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// goLines counts the lines of Go that people write, by top-level folder.
func goLines(t *testing.T) []measure {
	counts := map[string]int{}
	for _, file := range sources(t, ".go") {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		room, _, ok := strings.Cut(file, "/")
		if !ok || strings.Contains("/"+file, "/testdata/") || generated.Match(text) {
			continue
		}
		kind := "production"
		if strings.HasSuffix(file, "_test.go") {
			kind = "tests"
		}
		counts["lines of "+room+", "+kind] += bytes.Count(text, []byte("\n"))
	}
	var all []measure
	for name, n := range counts {
		all = append(all, measure{name: name, value: n, step: 100})
	}
	slices.SortFunc(all, func(a, b measure) int { return strings.Compare(a.name, b.name) })
	return all
}

// stilted are words that hide who does what. What they stand for says it better.
var stilted = regexp.MustCompile(`(?i)\b(?:that of|those of|goes on|whose|meanwhile|comes to|lets go of)\b`)

func wordMeasures(t *testing.T) []measure {
	words, hidden := 0, 0
	for name, text := range pages(t) {
		if name == "README.md" || name == "CHANGELOG.md" || within(name, "docs") {
			words += len(strings.Fields(text))
		}
	}
	for _, p := range passages(t) {
		if p.kind == "comment" {
			hidden += len(stilted.FindAllString(quoted.ReplaceAllString(p.text, ""), -1))
		}
	}
	return []measure{{name: "words of documents", value: words, step: 100}, {name: "stilted words in comments", value: hidden, step: 1}}
}

func publicMeasures(t *testing.T) []measure {
	packages, names := 0, 0
	_, rows := readPackages(t)
	for pkg := range rows {
		if !isPublic(pkg) || strings.HasSuffix(pkg, "pb") {
			continue
		}
		packages++
		for _, methods := range exportedNames(t, pkg) {
			names += 1 + len(methods)
		}
	}
	return []measure{{name: "public packages", value: packages, step: 1}, {name: "exported names of public packages", value: names, step: 1}}
}

// compiled is what a type check needs of go list.
type compiled struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// listCompiled returns the packages of the module, and where the types of each package lie
// that they import.
func listCompiled(t *testing.T) (own []compiled, exports map[string]string) {
	cmd := osexec.Command("go", "list", "-pgo=off", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", module+"...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	exports = map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p compiled
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return own, exports
		}
		if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module) && !strings.HasSuffix(p.ImportPath, "pb") {
			own = append(own, p)
		}
	}
}

func typeMeasures(t *testing.T) []measure {
	own, exports := listCompiled(t)
	knot := measure{name: "files that all need each other", step: 1}
	fields, methods := measure{name: "fields of a struct", step: 1}, measure{name: "methods of a type", step: 1}
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range own {
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		pkg, err := (&types.Config{Importer: imports}).Check(p.ImportPath, files, parsed, info)
		if err != nil {
			t.Fatal(err)
		}
		short := strings.TrimPrefix(p.ImportPath, module)
		in := largestKnot(files, pkg, info)
		knot.raise(len(in), short+": "+strings.Join(in, " "))
		for _, name := range pkg.Scope().Names() {
			typeName, ok := pkg.Scope().Lookup(name).(*types.TypeName)
			if !ok || typeName.IsAlias() {
				continue
			}
			if named, ok := typeName.Type().(*types.Named); ok {
				methods.raise(named.NumMethods(), short+"."+name)
			}
			if s, ok := typeName.Type().Underlying().(*types.Struct); ok {
				fields.raise(s.NumFields(), short+"."+name)
			}
		}
	}
	return []measure{knot, fields, methods}
}

// raise keeps the larger of two values.
func (m *measure) raise(value int, where string) {
	if value > m.value {
		m.value, m.where = value, where
	}
}

// largestKnot returns the most files of a package that all reach each other through uses
// of what another file declares, in order.
func largestKnot(files *token.FileSet, pkg *types.Package, info *types.Info) []string {
	uses := map[string]map[string]bool{}
	for id, o := range info.Uses {
		if o.Pkg() != pkg || o.Parent() != nil && o.Parent() != pkg.Scope() {
			continue
		}
		user, used := filepath.Base(files.Position(id.Pos()).Filename), filepath.Base(files.Position(o.Pos()).Filename)
		if uses[user] == nil {
			uses[user] = map[string]bool{}
		}
		if user != used {
			uses[user][used] = true
		}
	}
	reached := map[string]map[string]bool{}
	for file := range uses {
		reached[file] = map[string]bool{}
		for next := []string{file}; len(next) > 0; next = next[1:] {
			for used := range uses[next[0]] {
				if !reached[file][used] {
					reached[file][used], next = true, append(next, used)
				}
			}
		}
	}
	var largest []string
	for file := range reached {
		var knot []string
		for other := range reached[file] {
			if reached[other][file] {
				knot = append(knot, other)
			}
		}
		slices.Sort(knot)
		if len(knot) > len(largest) || len(knot) == len(largest) && slices.Compare(knot, largest) < 0 {
			largest = knot
		}
	}
	return largest
}

// TestLargestKnot: methods and fields count, and a file that is only used is in no knot.
func TestLargestKnot(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	var parsed []*ast.File
	for name, text := range map[string]string{
		"a.go": "type A struct{ n int }; func (a A) one() { a.two() }",
		"b.go": "func (a A) two() { three() }",
		"c.go": "func three() { _ = A{}.n; leaf() }",
		"d.go": "func leaf() {}",
		"e.go": "func top() { A{}.one() }",
	} {
		file, err := parser.ParseFile(files, name, "package p; "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, err := new(types.Config).Check("p", files, parsed, info)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := largestKnot(files, pkg, info), []string{"a.go", "b.go", "c.go"}; !slices.Equal(got, want) {
		t.Errorf("knot %v, want %v", got, want)
	}
}

// TestCompareCeilings checks what is told, and that -update raises nothing.
func TestCompareCeilings(t *testing.T) {
	t.Parallel()
	intro, ceilings, err := parseCeilings("# intro\n\nabove\t10\nbelow\t900\ngone\t1\n")
	if err != nil || intro != "# intro\n\n" {
		t.Fatalf("%q, %v", intro, err)
	}
	lowered, told := compare([]measure{{"above", 11, "here", 1}, {"below", 640, "", 100}, {"new", 3, "", 1}}, ceilings)
	if want := "above\t10\nbelow\t700\nnew\t3\n"; lowered != want {
		t.Errorf("lowered to %q, want %q", lowered, want)
	}
	for i, part := range []string{"above: 11 is above the ceiling of 10 (here)", "new has no row", `row for "gone"`} {
		if len(told) != 3 || !strings.Contains(told[i], part) {
			t.Errorf("told %q, want %q", told, part)
		}
	}
	for _, bad := range []string{"name 3\n", "name\tthree\n", "a\t1\na\t2\n", "a\t1\n\nb\t2\n"} {
		if _, _, err := parseCeilings(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
