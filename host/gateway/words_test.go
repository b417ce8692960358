package gateway_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestDocumentHasTheWords compares the lists of words in the document with the
// constants that the host has for them.
func TestDocumentHasTheWords(t *testing.T) {
	t.Parallel()
	d, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ dir, typ, schema, property string }{
		{"../codemode", "Code", "Failed", "code"},
		{"../codemode", "Reason", "Failed Waiting", "reason"},
		{"../codemode", "Phase", "Failed", "phase"},
		{"../codemode", "RunStatus", "Run", "status"},
		{".", "ProblemCode", "Problem", "code"},
		{"../trajectory", "Kind", "Event", "kind"},
		{"../trajectory", "Outcome", "Event", "outcome"},
		{"../policy", "State", "Approval", "state"},
		{"../policy", "Severity", "Approval", "severity"},
		{"../policy", "Decision", "DecisionRequest", "decision"},
		{"../policy", "ToolKind", "Approval", "kind"},
		{"../catalog", "Source", "Entry", "source"},
	} {
		var documented []string
		for _, name := range strings.Fields(test.schema) {
			property := d.Components.Schemas[name]["properties"].(map[string]any)[test.property].(map[string]any)
			for _, word := range property["enum"].([]any) {
				documented = append(documented, word.(string))
			}
		}
		slices.Sort(documented)
		if words := constants(t, test.dir, test.typ); len(words) == 0 || !slices.Equal(words, documented) {
			t.Errorf("%s of %s:\nconstants  %v\ndocumented %v", test.property, test.schema, words, documented)
		}
	}
}

// constants returns the values of the string constants of a type in a package.
func constants(t *testing.T, dir, typ string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			id, ok := spec.Type.(*ast.Ident)
			if !ok || id.Name != typ || len(spec.Values) != 1 {
				return true
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				word, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, word)
			}
			return true
		})
	}
	slices.Sort(out)
	return out
}
