package repotest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// constants returns the string constants of a type in a Go file, in their order.
func constants(t *testing.T, file, typeName string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == typeName && len(spec.Values) == 1 {
			if value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value); err == nil {
				values = append(values, value)
			}
		}
		return true
	})
	return values
}

// TestSecurityListsTheRequests compares the kinds of requests that the threat model
// names with the kinds of the wire protocol.
func TestSecurityListsTheRequests(t *testing.T) {
	methods := constants(t, "internal/wire/message.go", "Method")
	text := pages(t)["docs/reference/security.md"]
	m := regexp.MustCompile(`(\w+) kinds of requests\s+\(([^)]*)\)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatal("the threat model names no kinds of requests")
	}
	var named []string
	for _, name := range strings.Split(m[2], ",") {
		named = append(named, strings.Trim(strings.TrimSpace(name), "`"))
	}
	numbers := []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	slices.Sort(methods)
	slices.Sort(named)
	if !slices.Equal(methods, named) || slices.Index(numbers, m[1]) != len(methods) {
		t.Errorf("the threat model names %s: %v, and package wire has %d: %v", m[1], named, len(methods), methods)
	}
}

// TestExamplesAreListed compares the table of examples/plugins/README.md with the
// folders.
func TestExamplesAreListed(t *testing.T) {
	manifests, err := filepath.Glob(filepath.Join(root, "examples/plugins/*/plugin.json"))
	if err != nil || len(manifests) == 0 {
		t.Fatalf("%d examples: %v", len(manifests), err)
	}
	text := pages(t)["examples/plugins/README.md"]
	for _, name := range manifests {
		id := filepath.Base(filepath.Dir(name))
		if !strings.Contains(text, fmt.Sprintf("| [%s](%s) |", id, id)) {
			t.Errorf("examples/plugins/README.md does not list %s", id)
		}
	}
}

// TestPublicPackagesAreListed compares the public packages with the list that
// docs/internals/architecture.md has of them.
func TestPublicPackagesAreListed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/internals/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?s)## Public packages\n(.*?)\n## `).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("the architecture has no list of public packages")
	}
	var listed, public []string
	for _, name := range regexp.MustCompile("(?m)^- `([^`]+)`").FindAllStringSubmatch(m[1], -1) {
		listed = append(listed, name[1])
	}
	_, rows := readPackages(t)
	for path := range rows {
		if isPublic(path) {
			public = append(public, path)
		}
	}
	for _, path := range without(public, listed) {
		t.Errorf("%s is public and not in the list of the architecture: move it below internal/, or list it with a reason", path)
	}
	for _, path := range without(listed, public) {
		t.Errorf("the architecture lists %s, which is not a public package", path)
	}
}

// isPublic reports whether users can import a package. The bundled plugin is a program.
func isPublic(path string) bool {
	return path != "plugins/shell" && !within(path, "examples") && !strings.Contains("/"+path+"/", "/internal/") && !strings.Contains("/"+path+"/", "/cmd/")
}
