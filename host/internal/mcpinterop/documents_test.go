//go:build interop && linux

package mcpinterop_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/quoinhq/quoin/host/internal/openapi"
)

// specimens is a module whose zip has documents of others.
const specimens = "github.com/pb33f/libopenapi@v0.42.3"

// TestLargeDocuments: every operation of the documents of others is offered, or left out
// for a reason that is known, and all schemas compile.
func TestLargeDocuments(t *testing.T) {
	said, err := exec.Command("go", "mod", "download", "-json", specimens).Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(said, &module); err != nil {
		t.Fatal(err)
	}
	specs := filepath.Join(module.Dir, "test_specs")
	for _, c := range []struct {
		file                string
		operations, leftOut int
	}{
		{filepath.Join(specs, "petstorev3.json"), 19, 0},
		{filepath.Join(specs, "stripe.yaml"), 493, 1},                                                // files go to another server
		{filepath.Join(modules, "@octokit", "openapi", "generated", "api.github.com.json"), 1222, 1}, // so do assets
	} {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			text, err := os.ReadFile(c.file)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			d, err := openapi.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d operations of %d bytes in %v", len(d.Operations), len(text), time.Since(start))
			if len(d.Operations) != c.operations || len(d.LeftOut) != c.leftOut {
				t.Errorf("%d operations, left out %+v", len(d.Operations), d.LeftOut)
			}
			for _, o := range d.Operations {
				for _, schema := range []json.RawMessage{o.Input, o.Output} {
					if schema != nil {
						compile(t, o.Name, schema)
					}
				}
			}
		})
	}
}

// compile fails the test unless a schema is one.
func compile(t *testing.T, name string, schema json.RawMessage) {
	t.Helper()
	var v any
	if err := json.Unmarshal(schema, &v); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	c := jsonschema.NewCompiler()
	c.UseRegexpEngine(func(string) (jsonschema.Regexp, error) { return anyText{}, nil }) // those of JavaScript are not Go's
	if err := c.AddResource("schema.json", v); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if _, err := c.Compile("schema.json"); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// anyText is a pattern that everything matches.
type anyText struct{}

func (anyText) MatchString(string) bool { return true }
func (anyText) String() string          { return "" }
