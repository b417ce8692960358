package repotest

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const reviewFile = "internal/repotest/testdata/api.txt"

// review is what the file says: its introduction and the reason of each name.
type review struct {
	intro    string
	reasons  map[string]string // by package and name
	anywhere map[string]string // by name, for names that move to another package
}

// parseReview reads rows of a name, a reason and perhaps methods, between tabs. "== "
// starts a package. What stands before the first package is the introduction.
func parseReview(text string) (review, error) {
	intro, rest, _ := strings.Cut(text, "\n== ")
	r := review{intro: intro, reasons: map[string]string{}, anywhere: map[string]string{}}
	for section := range strings.SplitSeq(rest, "\n== ") {
		pkg, body, _ := strings.Cut(section, "\n")
		for line := range strings.SplitSeq(strings.Trim(body, "\n"), "\n") {
			name, row, ok := strings.Cut(line, "\t")
			if !ok || !token.IsExported(name) {
				return r, fmt.Errorf("%q of %s: want an exported name, a tab and a reason", line, pkg)
			}
			why, _, _ := strings.Cut(row, "\t")
			r.reasons[pkg+" "+name], r.anywhere[name] = why, why
		}
	}
	return r, nil
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
	names, rooms := map[string][]string{}, map[room]bool{}
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
				addSpecs(names, rooms, d)
			}
		}
	}
	for r := range rooms {
		names[r.outer] = append(names[r.outer], names[r.embedded]...)
	}
	for name, methods := range names {
		if !ast.IsExported(name) { // only its methods are
			delete(names, name)
		}
		slices.Sort(methods)
	}
	return names
}

// room is an unexported type that an exported struct embeds: a caller sees its methods as methods of the struct.
type room struct{ outer, embedded string }

func addRooms(rooms map[room]bool, named *ast.TypeSpec) {
	if s, ok := named.Type.(*ast.StructType); ok && named.Name.IsExported() {
		for _, field := range s.Fields.List {
			if name := typeName(field.Type); field.Names == nil && !ast.IsExported(name) {
				rooms[room{named.Name.Name, name}] = true
			}
		}
	}
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
	receiver, _, _ := strings.Cut(typeName(d.Recv.List[0].Type), "[")
	names[receiver] = append(names[receiver], d.Name.Name)
}

// typeName is the name of a type, or of what it points to.
func typeName(e ast.Expr) string { return strings.TrimPrefix(types.ExprString(e), "*") }

func addSpecs(names map[string][]string, rooms map[room]bool, d *ast.GenDecl) {
	typed := false
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			note(names, spec.Name.Name)
			addRooms(rooms, spec)
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
	text, err := os.ReadFile(filepath.Join(root, reviewFile))
	if err != nil {
		t.Fatal(err)
	}
	r, err := parseReview(string(text))
	if err != nil {
		t.Fatalf("%s: %v", reviewFile, err)
	}
	var b strings.Builder
	b.WriteString(r.intro)
	_, rows := readPackages(t)
	for _, pkg := range slices.Sorted(maps.Keys(rows)) {
		if !isPublic(pkg) || strings.HasSuffix(pkg, "pb") {
			continue
		}
		fmt.Fprintf(&b, "\n== %s\n\n", pkg)
		names := exportedNames(t, pkg)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			why := r.reason(pkg, name)
			if strings.TrimSpace(why) == "" && !*update {
				t.Errorf("%s.%s has no reason in %s: unexport it, or say why users need it", pkg, name, reviewFile)
			}
			row := []string{name, why}
			if len(names[name]) > 0 {
				row = append(row, strings.Join(names[name], " "))
			}
			b.WriteString(strings.Join(row, "\t") + "\n")
		}
	}
	golden(t, reviewFile, b.String())
}

// TestReviewFormat checks that no slip in the file hides a name or its reason.
func TestReviewFormat(t *testing.T) {
	r, err := parseReview("# intro\n\n== a/b\n\nGood\tusers: README.md\tRead Write\nNew\t\n\n== c\n\nNew\tours: a/b\n")
	if err != nil || r.intro != "# intro\n" {
		t.Fatalf("got %+v, %v", r, err)
	}
	for _, tc := range []struct{ pkg, name, want string }{
		{"a/b", "Good", "users: README.md"}, {"a/b", "New", ""}, {"c", "New", "ours: a/b"},
		{"moved", "Good", "users: README.md"}, {"a/b", "Missing", ""},
	} {
		if got := r.reason(tc.pkg, tc.name); got != tc.want {
			t.Errorf("%s.%s: %q, want %q", tc.pkg, tc.name, got, tc.want)
		}
	}
	for _, bad := range []string{"Good users", "good\tusers: README.md", "\tusers: README.md", "Good\tours\n\nLost ours"} {
		if got, err := parseReview("# intro\n\n== a\n\n" + bad + "\n"); err == nil {
			t.Errorf("%q: accepted as %+v", bad, got)
		}
	}
}

// TestAliasesSayWhatTheyAre: go doc shows no more of an alias than its own comment.
func TestAliasesSayWhatTheyAre(t *testing.T) {
	_, rows := readPackages(t)
	for pkg := range rows {
		if !isPublic(pkg) || strings.HasSuffix(pkg, "pb") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files: %v", pkg, len(files), err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, alias := range bareAliases(file) {
				t.Errorf("%s.%s is an alias without a comment of its own", pkg, alias)
			}
		}
	}
}

// bareAliases returns the exported aliases of a file that say nothing of themselves.
func bareAliases(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		d, ok := d.(*ast.GenDecl)
		for i := 0; ok && i < len(d.Specs); i++ {
			s, isType := d.Specs[i].(*ast.TypeSpec)
			if isType && s.Assign.IsValid() && s.Name.IsExported() && s.Comment == nil && s.Doc == nil && (d.Doc == nil || d.Lparen.IsValid()) {
				names = append(names, s.Name.Name)
			}
		}
	}
	return names
}
