package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
)

// document is what the tests need of an OpenAPI document.
type document struct {
	OpenAPI    string                          `json:"openapi"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Responses  map[string]response       `json:"responses"`
		Schemas    map[string]map[string]any `json:"schemas"`
		Parameters map[string]parameter      `json:"parameters"`
	} `json:"components"`
}

type operation struct {
	ID          string              `json:"operationId"`
	Summary     string              `json:"summary"`
	Description string              `json:"description"`
	Security    *[]any              `json:"security"`
	Parameters  []parameter         `json:"parameters"`
	Responses   map[string]response `json:"responses"`
	Body        *struct {
		Required bool  `json:"required"`
		Content  media `json:"content"`
	} `json:"requestBody"`
}

type parameter struct {
	Ref  string `json:"$ref"`
	Name string `json:"name"`
	In   string `json:"in"`
}

type response struct {
	Ref     string         `json:"$ref"`
	Content media          `json:"content"`
	Headers map[string]any `json:"headers"`
}

type media map[string]struct {
	Schema json.RawMessage `json:"schema"`
}

// described says in which way an answer is not as the document has it.
func described(r *http.Request, resp *http.Response, body []byte) error {
	d, err := loaded()
	if err != nil {
		return err
	}
	op, known := d.operation(r)
	want := response{Ref: "#/components/responses/NotFound"} // of any other path or method
	if known {
		var ok bool
		if want, ok = op.Responses[fmt.Sprint(resp.StatusCode)]; !ok {
			return fmt.Errorf("status %d of %s is not documented", resp.StatusCode, op.ID)
		}
		d.see(op.ID, resp.StatusCode)
	}
	if want.Ref != "" {
		name := strings.TrimPrefix(want.Ref, "#/components/responses/")
		var ok bool
		if want, ok = d.Components.Responses[name]; !ok {
			return fmt.Errorf("there is no %s", name)
		}
	}
	for name := range want.Headers {
		if resp.Header.Get(name) == "" {
			return fmt.Errorf("header %s is missing", name)
		}
	}
	given, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("content type: %w", err)
	}
	content, ok := want.Content[given]
	if !ok {
		return fmt.Errorf("content type %s is not documented", given)
	}
	if given != "application/json" && given != "application/problem+json" || r.Method == http.MethodHead {
		return nil
	}
	return d.valid(content.Schema, body)
}

// operation finds the operation of a request.
func (d *loadedDocument) operation(r *http.Request) (operation, bool) {
	method := strings.ToLower(r.Method)
	if r.Method == http.MethodHead {
		method = "get"
	}
	for path, ops := range d.Paths {
		if prefix, _, wild := strings.Cut(path, "{"); r.URL.Path == path || wild && strings.HasPrefix(r.URL.Path, prefix) && len(r.URL.Path) > len(prefix) {
			op, ok := ops[method]
			return op, ok
		}
	}
	return operation{}, false
}

// loadedDocument compiles the document's schemas once.
type loadedDocument struct {
	document
	compiler *jsonschema.Compiler

	mu   sync.Mutex
	seen map[string]bool
}

var loaded = sync.OnceValues(func() (*loadedDocument, error) {
	d := &loadedDocument{compiler: jsonschema.NewCompiler(), seen: map[string]bool{}}
	if err := json.Unmarshal(gateway.OpenAPI(), &d.document); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(gateway.OpenAPI()))
	if err != nil {
		return nil, err
	}
	close_(doc.(map[string]any)["components"].(map[string]any)["schemas"])
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	return d, d.compiler.AddResource("openapi.json", doc)
})

// close_ makes objects take the properties that are documented and no others.
// Clients must put up with more; the tests must not, or the document would fall
// behind.
func close_(schema any) {
	switch s := schema.(type) {
	case []any:
		for _, v := range s {
			close_(v)
		}
	case map[string]any:
		for _, v := range s {
			close_(v)
		}
		if _, has := s["additionalProperties"]; !has && s["type"] == "object" && s["properties"] != nil {
			s["additionalProperties"] = false
		}
	}
}

func (d *loadedDocument) see(id string, status int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[fmt.Sprint(id, " ", status)] = true
}

// valid holds a body against a schema of the document.
func (d *loadedDocument) valid(schema json.RawMessage, body []byte) error {
	var ref struct {
		Ref string `json:"$ref"`
	}
	if err := json.Unmarshal(schema, &ref); err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	if ref.Ref == "" {
		return nil
	}
	d.mu.Lock()
	compiled, err := d.compiler.Compile("openapi.json" + ref.Ref)
	d.mu.Unlock()
	if err != nil {
		return err
	}
	return compiled.Validate(v)
}

// TestDocumentHasTheRoutes compares the document with the routes, both ways.
func TestDocumentHasTheRoutes(t *testing.T) {
	t.Parallel()
	d, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(d.OpenAPI, "3.1.") {
		t.Errorf("openapi is %s, want 3.1", d.OpenAPI)
	}
	var documented []string
	ids := map[string]bool{}
	for path, ops := range d.Paths {
		for method, op := range ops {
			documented = append(documented, d.signature(method, path, op))
			if ids[op.ID] || op.ID == "" || op.Summary == "" || op.Description == "" {
				t.Errorf("%s %s: operationId %q is missing or not unique, or it has no words", method, path, op.ID)
			}
			ids[op.ID] = true
		}
	}
	sort.Strings(documented)
	served := gateway.Signatures(unserved(t))
	sort.Strings(served)
	if !slices.Equal(documented, served) {
		t.Errorf("documented:\n%s\nserved:\n%s", strings.Join(documented, "\n"), strings.Join(served, "\n"))
	}
}

// signature is how a route and its description are compared.
func (d *loadedDocument) signature(method, path string, op operation) string {
	open := op.Security != nil && len(*op.Security) == 0
	session := false
	var query []string
	for _, p := range op.Parameters {
		if p.Ref != "" {
			p = d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
		}
		session = session || p.In == "header" && p.Name == gateway.HeaderSessionID
		if p.In == "query" {
			query = append(query, p.Name)
		}
	}
	slices.Sort(query)
	return fmt.Sprintf("%s %s open:%v session:%v query:%v", strings.ToUpper(method), path, open, session, query)
}

// TestDocumentHasTheMembers sends a member that no body has, and compares what
// the answer expects instead with the document.
func TestDocumentHasTheMembers(t *testing.T) {
	t.Parallel()
	d, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	c := serve(t, newHost(t, host.Config{}), gateway.Options{}, nil)
	for path, ops := range d.Paths {
		op, ok := ops["post"]
		if !ok {
			continue
		}
		var ref struct {
			Ref string `json:"$ref"`
		}
		if err := json.Unmarshal(op.Body.Content["application/json"].Schema, &ref); err != nil {
			t.Fatal(err)
		}
		properties, _ := d.Components.Schemas[strings.TrimPrefix(ref.Ref, "#/components/schemas/")]["properties"].(map[string]any)
		want := make([]string, 0, len(properties))
		for name := range properties {
			want = append(want, name)
		}
		sort.Strings(want)
		a := c.post(path, `{"no such member": 1}`).problem(400, gateway.ProblemInvalidRequest)
		var p gateway.Problem
		if err := json.Unmarshal(a.body, &p); err != nil {
			t.Fatal(err)
		}
		last := p.Errors[len(p.Errors)-1]
		if got := "one of " + strings.Join(want, ", "); last.Field != "no such member" || last.Expected != got {
			t.Errorf("%s: %+v, documented: %s", path, last, got)
		}
	}
}
