package configfile

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/quoinhq/quoin/host/internal/json5"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// TestConfigurationPage pins the generated part of docs/reference/configuration.md.
func TestConfigurationPage(t *testing.T) {
	const page, begin, end = "../../../docs/reference/configuration.md", "<!-- generated: fields -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s lacks the marks %q and %q", page, begin, end)
	}
	hosttest.Golden(t, *update, page, []byte(head+begin+"\n"+newFile().table().Markdown()+"\n"+end+tail))
}

var update = flag.Bool("update", false, "write the files that tests compare with")

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	b, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("quoin.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("quoin.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func asJSON(t *testing.T, text string) any {
	t.Helper()
	v, err := json5.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	b, err := v.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestSchemaAgreesWithLoader gives both the same files.
func TestSchemaAgreesWithLoader(t *testing.T) {
	s := compiledSchema(t)
	for _, tc := range []struct {
		text string
		fine bool
	}{
		{`{}`, true},
		{everything, true},
		{`{"$schema":"https://example.org/quoin.json",tools:{codeMode:true,allow:[]}}`, true},
		{`{tools:{codeMode:{runtime:"quickjs-wasi"}}}`, true},
		{`{agents:{a:{tools:{codeMode:false,deny:["x"]}}},sessions:{s:{allow:["y"]}}}`, true},
		{`{plugins:{dir:"p",config:{a:1,b:{c:[]}}},guest:{path:"g"},state:{dir:"s"},server:{listen:":1",hosts:["h"]}}`, true},
		{`{tools:{codeMode:{languages:[]}}}`, false},
		{`{tools:{codeMode:{languages:["javascript","javascript"]}}}`, false},
		{`{tools:{codeMode:{timeoutMs:"1"}}}`, false},
		{`{tools:{codeMode:{timeoutMs:1.5}}}`, false},
		{`{tools:{codeMode:"on"}}`, false},
		{`{tools:{codeMode:{models:{a:"maybe"}}}}`, false},
		{`{tool:{}}`, false},
		{`{agents:{a:{tools:{codeMode:{isolation:"required"}}}}}`, false},
		{`{plugins:[]}`, false},
	} {
		_, lerr := LoadFile(write(t, tc.text))
		serr := s.Validate(asJSON(t, tc.text))
		if (lerr == nil) != tc.fine || (serr == nil) != tc.fine {
			t.Errorf("%s\nloader: %v\nschema: %v", tc.text, lerr, serr)
		}
	}
}

// TestDefaultsConform: the configuration that is in force without any file is one
// that the schema takes, and that reads back as the same.
func TestDefaultsConform(t *testing.T) {
	f, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	doc := map[string]any{}
	for _, v := range f.Report.Values {
		at := doc
		parts := strings.Split(v.Field, ".")
		for _, p := range parts[:len(parts)-1] {
			if at[p] == nil {
				at[p] = map[string]any{}
			}
			at = at[p].(map[string]any)
		}
		if list, ok := v.Value.([]string); ok && list == nil {
			continue
		}
		at[parts[len(parts)-1]] = v.Value
	}
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := compiledSchema(t).Validate(asJSON(t, string(b))); err != nil {
		t.Errorf("the schema refuses the defaults: %v\n%s", err, b)
	}
	if again, err := LoadFile(write(t, string(b))); err != nil || len(again.Report.Warnings) > 0 {
		t.Errorf("the defaults do not read back: %v, %+v", err, again)
	}
}

// TestEveryFieldIsDocumented: each default is in the reference and the schema.
func TestEveryFieldIsDocumented(t *testing.T) {
	f, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	reference := newFile().table().Markdown()
	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range f.Report.Values {
		name := v.Field[strings.LastIndex(v.Field, ".")+1:]
		if !strings.Contains(reference, "| `"+name+"` |") || !bytes.Contains(schema, []byte(`"`+name+`"`)) {
			t.Errorf("%s is not in the reference or the schema", v.Field)
		}
	}
	if bytes.Contains(schema, []byte("oneOf")) || bytes.Contains(schema, []byte("anyOf")) {
		t.Error("the schema has a union")
	}
}
