package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAdviceIsInOnePlace checks that package ownership alone proposes to change the mode or
// the owner of a path, because it knows which paths are the user's own. The programs that
// a shell command may name are no advice.
func TestAdviceIsInOnePlace(t *testing.T) {
	t.Parallel()
	change := regexp.MustCompile(`\b(chmod|chown)\b`)
	names := []string{"guestrt/guestserver/shell.go", "internal/shell", "plugins/shell"}
	seen := false
	for _, file := range sources(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || strings.Contains("/"+file, "/testdata/") || withinAny(file, names) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if ok && text.Kind == token.STRING && change.MatchString(text.Value) {
				if within(file, "internal/ownership") {
					seen = true
				} else {
					t.Errorf("%s proposes %s: take the command of ownership.Repair", file, text.Value)
				}
			}
			return true
		})
	}
	if !seen {
		t.Error("package ownership proposes nothing any more")
	}
}
