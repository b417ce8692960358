package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// declared returns the functions of the repository, as Func or Type.Method, each
// with the files that declare it. Tests do not count.
func declared(t *testing.T) map[string][]string {
	t.Helper()
	functions := map[string][]string{}
	for _, file := range sources(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || strings.Contains("/"+file, "/testdata/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				name := functionName(f)
				functions[name] = append(functions[name], file)
			}
		}
	}
	return functions
}

// functionName is Func for a function and Type.Method for a method.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	if name, ok := receiver.(*ast.Ident); ok {
		return name.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

// whereRow is a row of the page: a question, a file and a function.
var whereRow = regexp.MustCompile("(?m)^(\\| [^|]+ \\| `)([^`]+)(` \\| `)([^`]+)(` \\|)$")

// TestWhereThingsAre checks every file and function that the page names. With
// -update it corrects the file of a function that has moved.
func TestWhereThingsAre(t *testing.T) {
	const name = "docs/internals/where-things-are.md"
	text := pages(t)[name]
	functions := declared(t)
	rows := 0
	fixed := whereRow.ReplaceAllStringFunc(text, func(row string) string {
		rows++
		m := whereRow.FindStringSubmatch(row)
		file, function := m[2], m[4]
		files := functions[function]
		for _, f := range files {
			if f == file {
				return row
			}
		}
		if *update && len(files) == 1 {
			return m[1] + files[0] + m[3] + function + m[5]
		}
		t.Errorf("%s: %s has no %s; it is declared in %q", name, file, function, files)
		return row
	})
	if want := strings.Count(text, "\n| ") - strings.Count(text, "\n| where is"); rows != want || rows < 20 {
		t.Errorf("%s: %d of %d rows were read, want 20 or more", name, rows, want)
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, name), []byte(fixed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
