package programs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/host/runstore"
)

// FuzzStored: whatever lies in the directory, sealed rightly or not, a store that reads it
// returns programs that it could have written, or none, and does not fail.
func FuzzStored(f *testing.F) {
	f.Add([]byte(`{}`), true)
	f.Add([]byte(`{"name":"mine","language":"javascript","code":"return 1","input":{"type":"object"},"for":"session","runId":"run_1"}`), true)
	f.Add([]byte(`{"name":"../../x","code":"1","for":"everyone"}`), true)
	f.Add([]byte("QUOINRUN"), false)
	f.Fuzz(func(t *testing.T, content []byte, sealed bool) {
		path := t.TempDir()
		runs, err := runstore.OpenDir(filepath.Join(path, "runs"))
		if err != nil {
			t.Fatal(err)
		}
		d, err := programs.OpenDir(filepath.Join(path, "programs"), runs)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"mine-0123456789abcdef.program", "kept/run_1.kept"} {
			file := filepath.Join(path, "programs", name)
			b := content
			if sealed {
				b = runs.Sealer("programs").Seal(filepath.Base(name), content)
			}
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		list, err := d.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			if programs.CheckName(p.Name) != nil || p.Code == "" {
				t.Errorf("read %+v", p)
			}
			_, _ = p.Call(), p.Key()
		}
		if k, err := d.Kept(t.Context(), "run_1"); err == nil && k.RunID != "run_1" {
			t.Errorf("read %+v", k)
		}
		if list, err := d.AllKept(t.Context()); err != nil || len(list) > 1 {
			t.Errorf("%d kept, %v", len(list), err)
		}
	})
}

// FuzzExample: of any example comes an error, or a schema that takes the example.
func FuzzExample(f *testing.F) {
	for _, s := range []string{`{"days":7}`, `{"a":[1,"x",null]}`, `[]`, `{"a":1e400}`, `{"":{"b":[[{}]]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, example []byte) {
		st := &programs.Memory{}
		keep(t, st, kept(1))
		p, err := save(t, st, programs.Request{Name: "p", Example: example})
		if err == nil && !json.Valid(p.Input) {
			t.Errorf("schema %q", p.Input)
		}
	})
}
