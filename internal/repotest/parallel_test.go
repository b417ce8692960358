package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// waiting are the folders of tests that wait for guests, timers and people.
var waiting = []string{"host", "host/cmd/quoin", "host/mcp", "host/mcpserver", "host/postgres"}

// TestTestsThatWaitAreParallel: each of them calls t.Parallel, or hosttest.Serial with the
// reason why not.
func TestTestsThatWaitAreParallel(t *testing.T) {
	t.Parallel()
	for _, folder := range waiting {
		files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no tests: %v", folder, err)
		}
		for _, file := range files {
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && isTest(f) && !saysHowItRuns(f) {
					t.Errorf("%s: %s is neither parallel nor serial with a reason: start it with t.Parallel(), or with hosttest.Serial(t, REASON)", set.Position(f.Pos()), f.Name.Name)
				}
			}
		}
	}
}

func isTest(f *ast.FuncDecl) bool {
	return f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain"
}

// saysHowItRuns reports whether a statement of the test itself calls Parallel or Serial.
func saysHowItRuns(f *ast.FuncDecl) bool {
	for _, s := range f.Body.List {
		if e, ok := s.(*ast.ExprStmt); ok {
			if c, ok := e.X.(*ast.CallExpr); ok {
				if sel, ok := c.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Parallel" || sel.Sel.Name == "Serial") {
					return true
				}
			}
		}
	}
	return false
}
