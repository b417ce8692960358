package repotest

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const reviewPage = "docs/internals/api-review.md"

// review is what the page says: its introduction, a paragraph for each package, and
// the reason of each name.
type review struct {
	intro      string
	paragraphs map[string]string
	reasons    map[string]string // by package and name
	anywhere   map[string]string // by name, for names that move to another package
}

// readReview takes the page apart.
func readReview(page string) review {
	intro, rest, _ := strings.Cut(page, "\n## ")
	r := review{intro: intro, paragraphs: map[string]string{}, reasons: map[string]string{}, anywhere: map[string]string{}}
	row := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.*?) \\| .*\\|$")
	for section := range strings.SplitSeq(rest, "\n## ") {
		pkg, body, _ := strings.Cut(section, "\n")
		paragraph, _, _ := strings.Cut(body, "| name |")
		r.paragraphs[pkg] = strings.TrimSpace(paragraph)
		for _, m := range row.FindAllStringSubmatch(body, -1) {
			r.reasons[pkg+" "+m[1]], r.anywhere[m[1]] = m[2], m[2]
		}
	}
	return r
}

// reason returns why a name is exported, or "".
func (r review) reason(pkg, name string) string {
	if why, ok := r.reasons[pkg+" "+name]; ok {
		return why
	}
	return r.anywhere[name]
}

// exportedNames returns the exported names of a package, each with its exported
// methods. Constants of a named type count with the type.
func exportedNames(t *testing.T, pkg string) map[string][]string {
	t.Helper()
	dir := filepath.Join(root, filepath.FromSlash(pkg))
	found, err := build.Default.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{}
	for _, file := range found.GoFiles {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				addFunc(names, d)
			case *ast.GenDecl:
				addSpecs(names, d)
			}
		}
	}
	for name, methods := range names {
		if !ast.IsExported(name) { // only its methods are
			delete(names, name)
		}
		slices.Sort(methods)
	}
	return names
}

// note adds a name without methods, unless it is there.
func note(names map[string][]string, name string) {
	if _, ok := names[name]; !ok {
		names[name] = nil
	}
}

func addFunc(names map[string][]string, d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	if d.Recv == nil {
		note(names, d.Name.Name)
		return
	}
	receiver := d.Recv.List[0].Type
	if p, ok := receiver.(*ast.StarExpr); ok {
		receiver = p.X
	}
	if index, ok := receiver.(*ast.IndexExpr); ok {
		receiver = index.X
	}
	if name, ok := receiver.(*ast.Ident); ok {
		names[name.Name] = append(names[name.Name], d.Name.Name)
	}
}

func addSpecs(names map[string][]string, d *ast.GenDecl) {
	typed := false
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			note(names, spec.Name.Name)
		case *ast.ValueSpec:
			if spec.Type != nil || spec.Values != nil {
				typed = d.Tok == token.CONST && (spec.Type != nil || isForeign(spec.Values[0]))
			}
			for _, name := range spec.Names {
				if !typed && name.IsExported() {
					note(names, name.Name)
				}
			}
		}
	}
}

// isForeign reports whether a value is a name of another package, as in an alias.
func isForeign(value ast.Expr) bool {
	_, ok := value.(*ast.SelectorExpr)
	return ok
}

// TestAPIReview holds that every exported name of a public package stands in the
// review with a reason. With -update it lists new names without one.
func TestAPIReview(t *testing.T) {
	r := readReview(pages(t)[reviewPage])
	var b strings.Builder
	b.WriteString(r.intro)
	_, rows := readPackages(t)
	for _, pkg := range slices.Sorted(maps.Keys(rows)) {
		if !isPublic(pkg) || strings.HasSuffix(pkg, "pb") {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| name | why it is exported | methods |\n|---|---|---|\n", pkg, r.paragraphs[pkg])
		names := exportedNames(t, pkg)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			why := r.reason(pkg, name)
			if why == "" && !*update {
				t.Errorf("%s.%s has no reason in %s: unexport it, or say why users need it", pkg, name, reviewPage)
			}
			methods := ""
			if len(names[name]) > 0 {
				methods = "`" + strings.Join(names[name], "` `") + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, why, methods)
		}
	}
	golden(t, reviewPage, b.String())
}
