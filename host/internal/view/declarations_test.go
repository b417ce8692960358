package view

import (
	"encoding/json"
	"testing"
)

// TestDeclarations: files are rendered when they are read, once, and the index
// names all of them with their size in UTF-8.
func TestDeclarations(t *testing.T) {
	rendered := map[string]int{}
	file := func(path, text string) declaration {
		return declaration{path: path, description: "What " + path + " is.", render: func() []byte {
			rendered[path]++
			return []byte(text)
		}}
	}
	d := newDeclarations(func() []declaration {
		return []declaration{file("b.d.ts", "é"), file("a/c.d.ts", "type C = 1;")}
	})
	for range 2 {
		got, _, found := d.File("api/a/c.d.ts")
		if !found || string(got) != "type C = 1;" {
			t.Fatalf("a/c.d.ts: %q, %v", got, found)
		}
	}
	if len(rendered) != 1 || rendered["a/c.d.ts"] != 1 {
		t.Errorf("rendered %v, want only what was read, once", rendered)
	}
	for _, path := range []string{"api/", "api/none.d.ts", "api/b.d.ts/", "api/../b.d.ts", "b.d.ts", "api/none.d.ts.json", "api/.json"} {
		if _, _, found := d.File(path); found {
			t.Errorf("%q was found", path)
		}
	}
	entry, _, found := d.File("api/b.d.ts.json")
	if want := `{"path":"b.d.ts","description":"What b.d.ts is.","bytes":2}`; !found || string(entry) != want {
		t.Errorf("entry %s\nwant  %s", entry, want)
	}
	index, _, found := d.File("api/index.json")
	want := `[{"path":"a/c.d.ts","description":"What a/c.d.ts is.","bytes":11},{"path":"b.d.ts","description":"What b.d.ts is.","bytes":2}]`
	if !found || string(index) != want || !json.Valid(index) {
		t.Errorf("index %s\nwant  %s", index, want)
	}
	empty, _, _ := newDeclarations(func() []declaration { return nil }).File("api/index.json")
	if string(empty) != "[]" {
		t.Errorf("index of no files: %s", empty)
	}
}
