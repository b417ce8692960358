package repotest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/quoinhq/quoin/"

// listed is what the test needs of go list.
type listed struct {
	ImportPath string
	Doc        string
	Imports    []string
	Deps       []string
	GoFiles    []string
	CgoFiles   []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := osexec.Command("go", "list", "-pgo=off", "-json=ImportPath,Doc,Imports,Deps,GoFiles,CgoFiles", module+"...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var pkgs []listed
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// packageRow is one package of testdata/packages.txt.
type packageRow struct {
	path, purpose string
	imports       []string
}

// packageGroup is a headed part of testdata/packages.txt.
type packageGroup struct {
	title string
	rows  []packageRow
}

const packagesFile = "testdata/packages.txt"

// parsePackages reads rows of three lines: the path, and after tabs the purpose
// and the imports. "== " starts a group.
func parsePackages(text string) ([]packageGroup, error) {
	var groups []packageGroup
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	for len(lines) > 0 {
		if title, ok := strings.CutPrefix(lines[0], "== "); ok {
			groups, lines = append(groups, packageGroup{title: title}), lines[1:]
			continue
		}
		if len(groups) == 0 || len(lines) < 3 || !strings.HasPrefix(lines[1], "\t") || !strings.HasPrefix(lines[2], "\t") {
			return nil, fmt.Errorf("%q: want a group, and rows of a path, a purpose and imports", lines[0])
		}
		row := packageRow{path: lines[0], purpose: strings.TrimSpace(lines[1]), imports: strings.Fields(lines[2])}
		if slices.Equal(row.imports, []string{"-"}) {
			row.imports = nil
		}
		last := &groups[len(groups)-1]
		last.rows, lines = append(last.rows, row), lines[3:]
	}
	return groups, nil
}

func readPackages(t *testing.T) ([]packageGroup, map[string]packageRow) {
	t.Helper()
	text, err := os.ReadFile(packagesFile)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := parsePackages(string(text))
	if err != nil {
		t.Fatalf("%s: %v", packagesFile, err)
	}
	rows := map[string]packageRow{}
	for _, g := range groups {
		for _, r := range g.rows {
			if _, twice := rows[r.path]; twice {
				t.Errorf("%s has two rows for %s", packagesFile, r.path)
			}
			rows[r.path] = r
		}
	}
	return groups, rows
}

// TestImportRules compares the imports of every package with packages.txt, in both
// directions, and pins the list of docs/internals/architecture.md.
func TestImportRules(t *testing.T) {
	groups, rows := readPackages(t)
	seen := map[string]bool{}
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		seen[path] = true
		imports := ownImports(p.Imports)
		row, ok := rows[path]
		if !ok {
			t.Errorf("%s has no row: add it to %s:\n%s\n\twhat it is for\n\t%s", path, packagesFile, path, cellOf(imports))
			continue
		}
		for _, imp := range without(imports, row.imports) {
			t.Errorf("%s imports %s: remove the import, or add it to the row of %s in %s if the arrow is meant", path, imp, path, packagesFile)
		}
		for _, imp := range without(row.imports, imports) {
			t.Errorf("%s does not import %s: remove that from its row in %s", path, imp, packagesFile)
		}
	}
	for path := range rows {
		if !seen[path] {
			t.Errorf("there is no package %s: remove its row from %s", path, packagesFile)
		}
	}
	pinPackageList(t, groups)
}

// floors are the parts of the host, the lowest first. A package imports only from
// the floors below its own, and from its own floor.
var floors = [][]string{
	{"host/codemode"},
	{"host/internal/observe"},
	{"host/internal/view"},
	{"host/internal/runs"},
	{"host"},
	{"host/internal/configfile", "host/gateway", "host/gateway/client"},
	{"host/cmd/quoin"},
}

// TestFloors checks that no package imports one of a higher floor, and that only the
// host, its embedders and tests import the host.
func TestFloors(t *testing.T) {
	_, rows := readPackages(t)
	level := map[string]int{}
	for i, floor := range floors {
		for _, path := range floor {
			level[path] = i
		}
	}
	for path, row := range rows {
		own, placed := level[path]
		for _, imp := range row.imports {
			if above, ok := level[imp]; ok && placed && above > own {
				t.Errorf("%s imports %s, which stands above it", path, imp)
			}
			if !within(path, "host") && !mayUseHost(path) && within(imp, "host") {
				t.Errorf("%s imports %s: only the host, test kits, examples and tests may", path, imp)
			}
		}
	}
}

// mayUseHost reports whether a package outside host may import it.
func mayUseHost(path string) bool {
	return path == "sdk/sdktest" || path == "examples/demo" || path == "examples/cluster" || path == "internal/hosttest" || within(path, "internal/hostile") || within(path, "internal/mcpconformance")
}

func ownImports(imports []string) []string {
	var ours []string
	for _, imp := range imports {
		if path, ok := strings.CutPrefix(imp, module); ok {
			ours = append(ours, path)
		}
	}
	return ours
}

// without returns the elements of list that drop does not have.
func without(list, drop []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(drop, s) })
}

func cellOf(imports []string) string {
	if len(imports) == 0 {
		return "-"
	}
	return strings.Join(imports, " ")
}

func pinPackageList(t *testing.T, groups []packageGroup) {
	t.Helper()
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "\n### %s\n\n", g.title)
		for _, r := range g.rows {
			fmt.Fprintf(&b, "- `%s`: %s\n", r.path, r.purpose)
		}
	}
	b.WriteString("\n")
	goldenPart(t, "docs/internals/architecture.md", "packages", b.String())
}

// within reports whether path is dir or below it.
func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func withinAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(path, dir) })
}

// TestEngineStaysInTheWorker checks that a gateway or a plugin links neither the
// JavaScript engine nor the TypeScript compiler. Test kits may link them, because
// the tests that use them serve as workers. So may the command that bundles a
// plugin written in JavaScript, because it is not part of that plugin. The command quoin
// has to: who installs it alone runs programs with it.
func TestEngineStaysInTheWorker(t *testing.T) {
	worker := []string{"examples/plugins/notes", "guestrt/internal/engine/quickjs", "guestrt/guestserver", "guestrt/cmd", "guestrt/internal/prelude"}
	kits := []string{"sdk/sdktest", "internal/hosttest", "examples/plugins/internal/plugintest"}
	alone := false
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if path == "host/cmd/quoin" {
			alone = slices.Contains(p.Deps, module+"guestrt/guestserver")
			continue
		}
		if withinAny(path, worker) || slices.Contains(kits, path) {
			continue
		}
		for _, d := range p.Deps {
			if within(d, "modernc.org/libquickjs") || within(d, "modernc.org/quickjs") || within(d, "github.com/evanw/esbuild") && !within(path, "guestrt/internal/prelude") {
				t.Errorf("%s links %s, which belongs to the worker alone", path, d)
			}
		}
	}
	if !alone {
		t.Error("host/cmd/quoin is not its own worker")
	}
}

// TestPackagesAreDocumented requires a package comment everywhere, and Go alone.
func TestPackagesAreDocumented(t *testing.T) {
	for _, p := range listPackages(t) {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
		if len(p.CgoFiles) > 0 {
			t.Errorf("%s uses cgo", p.ImportPath)
		}
	}
}
