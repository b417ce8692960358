package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/sqlite"
)

// namesBelowState are the names that the sources of the commands join to a state directory.
func namesBelowState(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.go", "internal/app/*.go", "internal/*cmd/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	var names []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isJoin(call) && len(call.Args) > 1 && isState(call.Args[0]) {
				names = append(names, nameOf(t, call.Args[1]))
			}
			return true
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// nameOf is what an expression is: a text, a constant that is known here, or one of the
// state names itself, which is "".
func nameOf(t *testing.T, e ast.Expr) string {
	t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.Ident:
		if text, ok := map[string]string{"KeyFileName": app.KeyFileName, "nodeWork": nodeWork, "name": ""}[e.Name]; ok {
			return text
		}
	}
	t.Errorf("a name in the state directory is neither a text nor a constant that the test knows: %#v", e)
	return ""
}

func isJoin(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && f.Sel.Name == "Join"
}

func isState(e ast.Expr) bool {
	if field, ok := e.(*ast.SelectorExpr); ok {
		return field.Sel.Name == "state" || field.Sel.Name == "State"
	}
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "state"
}

// TestStateNames: commands in a sandbox see nothing that is in a state directory, now or
// later, and docs/guide/operating.md says what each of it is. Only the working directory of
// a node is for commands.
func TestStateNames(t *testing.T) {
	t.Parallel()
	want := sqlite.Names()
	for _, name := range namesBelowState(t) {
		if name != "" && name != nodeWork {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if hidden := slices.Sorted(slices.Values(app.StateNames)); !slices.Equal(hidden, want) {
		t.Errorf("hidden are %q, and a state directory has %q", hidden, want)
	}
	_, table, _ := strings.Cut(page(t, "guide/operating"), "## State and backup")
	table, _, _ = strings.Cut(table, "\n## ")
	var listed []string
	for _, cell := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(table, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell[1], -1) {
			listed = append(listed, name[1])
		}
	}
	slices.Sort(listed)
	if !slices.Equal(listed, want) {
		t.Errorf("the page lists %q, and a state directory has %q", listed, want)
	}
}
