package celltypes

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/typescript"
)

const weather = `
declare const Weather: { forecast(city: string, days?: number): Promise<{ sky: string; celsius: number }[]> };
`

// TestCheck: cells may return and await at their top level and have variables of one
// name; what is wrong in them is reported where it stands.
func TestCheck(t *testing.T) {
	t.Parallel()
	compiler := typescript.Compiler(t)
	got, err := Check(t.Context(), compiler, hosttest.GuestDeclarations(t)+weather, map[string]string{
		"testdata/a.ts": "const week = await Weather.forecast(\"Oslo\", 7);\nif (week.length) return week;\ntext(1); // want: 1",
		"testdata/b.ts": "const week: string = await Weather.forecast(\"Oslo\");\nreturn week;",
		"testdata/c.ts": "type Day = { sky: string };\nconst week: Day[] = await Weather.forecast(\"Oslo\");\nreturn week.map((d) => d.celsius);\n",
		"testdata/d.ts": "// @ts-expect-error\nreturn await Weather.forecast(1);",
		"testdata/e.ts": "return document.title;",
	})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, c := range got {
		said = append(said, c.String())
	}
	slices.Sort(said)
	want := []string{
		"testdata/b.ts:1:7: error TS2322: ",
		"testdata/c.ts:3:26: error TS2339: Property 'celsius' does not exist on type 'Day'.",
		"testdata/e.ts:1:8: error TS2584: Cannot find name 'document'",
	}
	if len(said) != len(want) {
		t.Fatalf("said:\n%s", strings.Join(said, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(said[i], want[i]) {
			t.Errorf("said %s, want %s", said[i], want[i])
		}
	}
}

// TestBrokenDeclarations: what is wrong elsewhere is no complaint about a cell.
func TestBrokenDeclarations(t *testing.T) {
	t.Parallel()
	compiler := typescript.Compiler(t)
	if got, err := Check(t.Context(), compiler, "declare const a: Missing;", map[string]string{"a.ts": "return 1"}); err == nil || !strings.Contains(err.Error(), "Missing") {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Check(t.Context(), filepath.Join(t.TempDir(), "none"), weather, nil); err == nil || !strings.Contains(err.Error(), "cannot be run") {
		t.Errorf("%v, %v", got, err)
	}
}

// TestComplaints: what a compiler says about cells is read.
func TestComplaints(t *testing.T) {
	t.Parallel()
	list, rest := complaints("testdata/cell0.ts(1,40): error TS1: a\r\n  more\ntestdata/cell0.ts(2,3): error TS2: b\nerror TS5023: Unknown option\n  of it\n\n", map[string]string{"testdata/cell0.ts": "dev.ts"})
	if rest != "error TS5023: Unknown option\n  of it\n" {
		t.Errorf("rest %q", rest)
	}
	want := []Complaint{{"dev.ts", 1, 40 - len(opening), "error TS1: a\n  more"}, {"dev.ts", 2, 3, "error TS2: b"}}
	if !slices.Equal(list, want) {
		t.Errorf("got %q", list)
	}
}

// TestWrite: what is there already is left as it is, and said.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(text string, want ...string) {
		t.Helper()
		notes, err := Write(dir, text)
		if err != nil || !slices.Equal(notes, want) {
			t.Errorf("%q, %v; want %q", notes, err, want)
		}
	}
	write("one", "wrote .quoin/types.d.ts", "wrote tsconfig.json")
	write("one")
	write("two", "wrote .quoin/types.d.ts")
	own := `{"include": ["src"]}`
	if err := os.WriteFile(filepath.Join(dir, ConfigName), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	write("two", `tsconfig.json is left as it is: add ".quoin/types.d.ts" to its include`)
	if b, err := os.ReadFile(filepath.Join(dir, ConfigName)); err != nil || string(b) != own {
		t.Errorf("it has %s, %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, ".quoin", ".gitignore")); err != nil || string(b) != "*\n" {
		t.Errorf("git sees the folder: %q, %v", b, err)
	}
	if HasCells(dir) {
		t.Error("it has cells")
	}
	if err := os.WriteFile(filepath.Join(dir, "dev.js"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !HasCells(dir) {
		t.Error("it has no cells")
	}
}
