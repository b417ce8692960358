package openapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sj "github.com/santhosh-tekuri/jsonschema/v6"
)

// parse reads a document that must be fine.
func parse(t *testing.T, text string) *Document {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range d.Operations {
		compiles(t, o.Name, o.Input)
		if o.Output != nil {
			compiles(t, o.Name, o.Output)
		}
	}
	return d
}

// compiles fails the test unless a schema is one.
func compiles(t *testing.T, name string, schema json.RawMessage) *sj.Schema {
	t.Helper()
	v, err := sj.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, schema)
	}
	c := sj.NewCompiler()
	if err := c.AddResource("s.json", v); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, schema)
	}
	return s
}

// one makes a document of the operations of one path.
func one(version, path, operations, rest string) string {
	return fmt.Sprintf(`{"openapi":%q,"info":{"title":"T","version":"1"},"paths":{%q:{%s}}%s}`, version, path, operations, rest)
}

func TestInput(t *testing.T) {
	d := parse(t, one("3.0.3", "/pets/{id}", `"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"integer"}},{"name":"shared","in":"query","description":"of the path","schema":{"type":"string"}}],
		"put":{"operationId":"put","summary":"Replace a pet","parameters":[
			{"name":"id","in":"query","schema":{"type":"string"}},
			{"name":"shared","in":"query","required":true,"schema":{"type":"boolean"}},
			{"name":"body","in":"header","schema":{"type":"string"}},
			{"name":"Authorization","in":"header","required":true,"schema":{"type":"string"}},
			{"name":"session","in":"cookie","schema":{"type":"string"}},
			{"$ref":"#/components/parameters/limit"}],
		"requestBody":{"required":true,"content":{"text/plain":{},"application/json":{"schema":{"$ref":"#/components/schemas/Pet"}}}},
		"responses":{"200":{"description":"","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Pet"}}}},"404":{"description":""}}}`,
		`,"components":{"parameters":{"limit":{"name":"limit","in":"query","schema":{"type":"integer","minimum":0,"exclusiveMinimum":true,"nullable":true}}},
		"schemas":{"Pet":{"type":"object","required":["id","name","secret"],"x-a":1,"example":{},"properties":{"id":{"type":"integer","readOnly":true},"secret":{"type":"string","writeOnly":true},
			"name":{"type":"string","nullable":true,"enum":["a","b"]},"parent":{"$ref":"#/components/schemas/Pet"},"owner":{"nullable":true,"allOf":[{"$ref":"#/components/schemas/Owner"}]}}},"Owner":{"type":"file"}}}`))
	o := d.Operations[0]
	const owner = `"name":{"type":["string","null"],"enum":["a","b",null]},"parent":{"$ref":"#/$defs/Pet"},"owner":{"anyOf":[{"allOf":[{"$ref":"#/$defs/Owner"}]},{"type":"null"}]}}},"Owner":{"type":"string"}}}`
	want := `{"type":"object","properties":{"id":{"type":"integer"},"id_query":{"type":"string"},"shared":{"type":"boolean"},` +
		`"limit":{"type":["integer","null"],"exclusiveMinimum":0},"body_header":{"description":"(header)","type":"string"},"body":{"$ref":"#/$defs/Pet"}},` +
		`"required":["id","shared","body"],"additionalProperties":false,"$defs":{"Pet":{"type":"object","required":["name","secret"],"properties":{"secret":{"type":"string"},` + owner
	if diff := cmp.Diff(want, string(o.Input)); diff != "" {
		t.Error(diff)
	}
	want = `{"$ref":"#/$defs/Pet","$defs":{"Pet":{"type":"object","required":["id","name"],"properties":{"id":{"type":"integer"},` + owner
	if diff := cmp.Diff(want, string(o.Output)); diff != "" {
		t.Error(diff)
	}
	if o.Name != "put" || o.Title != "Replace a pet" || o.Description != "Replace a pet\n\nPUT /pets/{id}" || o.Safe || !o.Idempotent {
		t.Errorf("%+v", o)
	}
}

// TestNewerSchemas: the schemas of 3.1 are JSON Schema already, and $ref has siblings.
func TestNewerSchemas(t *testing.T) {
	d := parse(t, one("3.1.0", "/a", `"get":{"parameters":[{"name":"q","in":"query","schema":{"$ref":"#/components/schemas/A","description":"more","$id":"http://evil.example/"}}],"responses":{}}`,
		`,"components":{"schemas":{"A":{"type":["string","null"],"exclusiveMinimum":3,"const":"x","if":true,"items":false,"$dynamicRef":"#x"}}}`))
	want := `{"type":"object","properties":{"q":{"$ref":"#/$defs/A","description":"more"}},"additionalProperties":false,"$defs":{"A":{"type":["string","null"],"exclusiveMinimum":3,"const":"x","if":true,"items":false}}}`
	if got := string(d.Operations[0].Input); got != want {
		t.Errorf("got %s", got)
	}
}

func TestYAML(t *testing.T) {
	d := parse(t, `
openapi: 3.0.0
info: {title: Y, version: 2020-01-01}
servers: [{url: 'https://{region}.example/{v}', variables: {region: {default: eu}, v: {default: v1}}}]
x-p: &p {name: day, in: query, schema: {type: string, default: 2020-01-01, maximum: 0x10}}
paths:
  /days:
    get:
      operationId: days
      parameters: [*p]
      responses:
        200: {description: ok, content: {application/json: {schema: {<<: {type: array}, items: {type: integer}}}}}
`)
	if d.Title != "Y" || d.Version != "2020-01-01" || d.Format != "3.0.0" || len(d.Servers) != 1 || d.Servers[0] != "https://eu.example/v1" {
		t.Errorf("%+v", d)
	}
	o := d.Operations[0]
	if string(o.Input) != `{"type":"object","properties":{"day":{"type":"string","default":"2020-01-01","maximum":16}},"additionalProperties":false}` || string(o.Output) != `{"items":{"type":"integer"},"type":"array"}` {
		t.Errorf("%s\n%s", o.Input, o.Output)
	}
}

// TestUnquotedWords: YAML takes some texts for numbers and truths.
func TestUnquotedWords(t *testing.T) {
	for _, version := range []string{"3.0", "3.1", "3.2"} {
		d := parse(t, "openapi: "+version+"\ninfo: {title: 404, version: 1.0}\npaths:\n  /a/{1}:\n    get: {operationId: 7, parameters: [{name: 1, in: path, required: true}, {name: true, in: query, required: true}]}\n")
		if d.Format != version || d.Title != "404" || d.Version != "1.0" || d.Operations[0].Name != "7" || !strings.Contains(string(d.Operations[0].Input), `"required":["1","true"]`) {
			t.Errorf("%+v", d)
		}
	}
}

// TestNames: a name never depends on the order of operations.
func TestNames(t *testing.T) {
	d := parse(t, `{"openapi":"3.0.0","info":{"title":"T","version":"1"},"paths":{
		"/a":{"get":{"operationId":"same","responses":{}},"post":{"operationId":"same","responses":{}}},
		"/b/{x-y}/c.json":{"get":{"parameters":[{"name":"x-y","in":"path","required":true,"schema":{}}],"responses":{}}},
		"/c":{"get":{"operationId":" spaces ","responses":{}}},
		"/d":{"get":{"operationId":"bell\u0007","responses":{}}},
		"/e-f":{"get":{"responses":{}}},
		"/e/f":{"get":{"responses":{}}},
		"/g":{"get":{"operationId":"issues/list-for-repo","responses":{}},"trace":{"operationId":"trace","responses":{}},"options":{"responses":{}}}}}`)
	var got []string
	for _, o := range d.Operations {
		got = append(got, o.Name)
	}
	if diff := cmp.Diff([]string{"get_a", "post_a", "get_b_x_y_c_json", "get_c", "get_d", "get_e_f", "issues/list-for-repo"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]LeftOut{{Name: "get_e_f", Reason: "another operation has this name"}}, d.LeftOut); diff != "" {
		t.Error(diff)
	}
}

func TestLeftOut(t *testing.T) {
	for path, want := range map[string]string{
		"/../admin":   "segment . or ..",
		"/a?b=c":      "a character that cannot stand there",
		"/a/{b#c}":    "a character that cannot stand there",
		"/%2e%2e/b":   "a character that cannot stand there",
		"/a/{b":       "a character that cannot stand there",
		"relative":    "must start with /",
		"/x/{nobody}": "which is no parameter",
	} {
		d := parse(t, one("3.0.0", path, `"get":{"responses":{}}`, ""))
		if len(d.Operations) != 0 || len(d.LeftOut) != 1 || !strings.Contains(d.LeftOut[0].Reason, want) {
			t.Errorf("%s: %+v", path, d)
		}
	}
	for operation, want := range map[string]string{
		`{"parameters":[{"in":"query","required":true}],"responses":{}}`:                             "has no name",
		`{"parameters":[{"$ref":"#/components/parameters/gone"}],"responses":{}}`:                    "not where its reference leads",
		`{"parameters":[{"$ref":"#/paths/~1a/get/parameters/0"}],"responses":{}}`:                    "refers to itself",
		`{"requestBody":{"required":true,"content":{"application/json":{}}},"responses":{}}`:         "GET is sent without one",
		`{"parameters":[{"name":"c","in":"cookie","required":true}],"responses":{}}`:                 "cookies are not sent",
		`{"parameters":[{"name":"c","in":"moon","required":true}],"responses":{}}`:                   "not known",
		`{"parameters":[{"name":"a b","in":"header","required":true}],"responses":{}}`:               "not the name of a header",
		`{"parameters":[{"name":"a","in":"query","style":"simple","required":true}],"responses":{}}`: "a style that is not known",
		`{"parameters":[{"name":"a","in":"formData"}]}`:                                              "not known",
		`{"parameters":"a"}`:                                           "its parameters are not a list",
		`{"parameters":{"name":"a","in":"query"}}`:                     "has no name",
		`{"parameters":{"a":{"schema":{}}}}`:                           "not known",
		`{"parameters":[{"name":"c","in":"cookie","required":"yes"}]}`: "cookies are not sent",
	} {
		d := parse(t, one("3.0.0", "/a", `"get":`+operation, ""))
		if len(d.Operations) != 0 || len(d.LeftOut) != 1 || !strings.Contains(d.LeftOut[0].Reason, want) {
			t.Errorf("%s: %+v", operation, d)
		}
	}
}

// TestParametersWithoutAPlace: what reads is offered without a parameter that its path does not
// have, as Superset has one. What changes something, and a path in another notation, is not.
func TestParametersWithoutAPlace(t *testing.T) {
	t.Parallel()
	for operation, offered := range map[string]bool{"get /a": true, "delete /a": false, "get /a/:id": false, "get /a/<int:id>": false, "get /a/{id}": true} {
		method, path, _ := strings.Cut(operation, " ")
		d := parse(t, one("3.0.0", path, `"`+method+`":{"parameters":[{"name":"id","in":"path","required":true}]}`, ""))
		const why = "its path has no {id}, which is a parameter of the path"
		switch {
		case !offered:
			if len(d.Operations) != 0 || len(d.LeftOut) != 1 || d.LeftOut[0].Reason != why {
				t.Errorf("%s: %+v", operation, d)
			}
		case len(d.Operations) != 1:
			t.Errorf("%s: %+v", operation, d)
		case strings.Contains(string(d.Operations[0].Input), `"id"`) == strings.Contains(d.Operations[0].Description, why+", and is not sent"):
			t.Errorf("%s: %s, %s", operation, d.Operations[0].Description, d.Operations[0].Input)
		}
	}
}

// TestLeftOutBodies: an operation is not offered without a body that it may need.
func TestLeftOutBodies(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`[]`:                   "its body is not an object",
		`{"content":["a"]}`:    "its body is not an object",
		`{"content":{"?":{}}}`: "no media type",
		`{"required":"true"}`:  "no media type",
	} {
		d := parse(t, one("3.0.0", "/a", `"post":{"requestBody":`+body+`}`, ""))
		if len(d.Operations) != 0 || len(d.LeftOut) != 1 || !strings.Contains(d.LeftOut[0].Reason, want) {
			t.Errorf("%s: %+v", body, d)
		}
	}
}

// TestOddForms: what a document writes in another form than the specification has still counts.
func TestOddForms(t *testing.T) {
	t.Parallel()
	for operation, want := range map[string]string{
		`{parameters: {q: {in: query, required: true, schema: {type: string}}}}`:       `{"q":{"type":"string"}},"required":["q"]`,
		`{parameters: {q: {name: n, in: query}, r: null}}`:                             `{"n":{}}`,
		`{parameters: [{name: q, in: " Query"}]}`:                                      `{"q":{}}`,
		`{parameters: [{name: q, in: query, required: yes}]}`:                          `"required":["q"]`,
		`{parameters: [{name: q, in: query, required: "True"}]}`:                       `"required":["q"]`,
		`{parameters: [{name: q, in: query, required: [q]}]}`:                          `"required":["q"]`,
		`{parameters: [{name: q, in: query, required: "no"}]}`:                         `{"q":{}},"additionalProperties"`,
		`{parameters: [{name: q, in: query, required: null}]}`:                         `{"q":{}},"additionalProperties"`,
		`{parameters: [{name: q, in: query, explode: "false", allowReserved: "yes"}]}`: `"(explode false, reserved characters stay)"`,
		`{requestBody: {required: yes, content: {application/json: {}}}}`:              `"required":["body"]`,
		`{parameters: [{name: q, in: query, schema: {minimum: "0", exclusiveMinimum: "true", maxLength: "7", maximum: many, uniqueItems: yes, additionalProperties: "false"}}]}`: `{"q":{"exclusiveMinimum":0,"maxLength":7,"uniqueItems":true,"additionalProperties":false}}`,
		`{parameters: [{name: q, in: query, schema: {type: string, nullable: yes}}]}`:                                                                                            `["string","null"]`,
		`{requestBody: {content: {application/json: {schema: {properties: {a: {readOnly: "true"}, b: {}}}}}}}`:                                                                   `{"properties":{"b":{}}}`,
		`{parameters: [{name: q, in: query, style: moon}], deprecated: "yes"}`:                                                                                                   `(deprecated) (its parameter \"q\" has a style that is not known)`,
	} {
		d := parse(t, "openapi: 3.0.0\npaths:\n  /a:\n    post: "+operation+"\n")
		if len(d.Operations) != 1 {
			t.Errorf("%s: %+v", operation, d)
		} else if got := fmt.Sprintf("%s %q", d.Operations[0].Input, d.Operations[0].Description); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", operation, got, want)
		}
	}
	for _, servers := range []string{`{url: /b}`, `/b`} {
		if d := parse(t, "openapi: 3.0.0\npaths:\n  /a:\n    post: {servers: "+servers+"}\n"); len(d.Operations) != 1 || len(d.Operations[0].servers) != 1 || d.Operations[0].servers[0] != "/b" {
			t.Errorf("%s: %+v", servers, d)
		}
	}
}

// TestNoPaths: a document that describes no request says so.
func TestNoPaths(t *testing.T) {
	t.Parallel()
	for _, rest := range []string{"paths: null", "paths: {}", "paths: []", "webhooks: {a: {post: {}}}"} {
		if d := parse(t, "openapi: 3.1.0\n"+rest+"\n"); len(d.LeftOut) != 1 || !strings.Contains(d.LeftOut[0].Reason, "has no paths") {
			t.Errorf("%s: %+v", rest, d)
		}
	}
}

func TestNoDocument(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", 'b'+i, 'b'+i, 'a'+i, 'a'+i, 'a'+i, 'a'+i, 'a'+i, 'a'+i, 'a'+i, 'a'+i)
	}
	for text, want := range map[string]string{
		"":                             "",
		"[]":                           "",
		"just words":                   "",
		"\x00":                         "",
		`{"swagger":"2.0"}`:            "convert it to OpenAPI 3",
		`{"openapi":"4.0.0"}`:          "expected OpenAPI 3.0",
		`{"openapi":3}`:                "its version is \"3\"; expected OpenAPI 3.0",
		"swagger: 2.0":                 "Swagger \"2.0\"",
		deep:                           "levels deep",
		"openapi: 3.0.0\nx: " + deep:   "levels deep",
		"openapi: &a [*a]":             "levels deep",
		bomb:                           "more than",
		"? [a]\n: b":                   "not a text",
		"openapi: 3.0.0\n<<: 3":        "does not merge a mapping",
		strings.Repeat(" ", maxText+1): "MiB",
		"[" + strings.Repeat("1,", maxValues) + "1]": "more than",
	} {
		if d, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %+v, %v, want %q", text, d, err, want)
		}
	}
}

// TestReferences: schemas that are cycles, nowhere or remote cost nothing and break nothing.
func TestReferences(t *testing.T) {
	d := parse(t, one("3.0.0", "/a", `"get":{"parameters":[{"name":"q","in":"query","schema":{"$ref":"#/components/schemas/Self"}},
		{"name":"r","in":"query","schema":{"$ref":"http://169.254.169.254/latest"}},{"name":"f","in":"query","schema":{"$ref":"/etc/passwd"}},{"name":"n","in":"query","schema":{"$ref":"#/nothing"}},
		{"name":"p","in":"query","schema":{"$ref":"#/paths/~1a/get/parameters/0/schema"}}],"responses":{"200":{"$ref":"#/components/responses/R"}}}`,
		`,"components":{"responses":{"R":{"$ref":"#/components/responses/R"}},
		"schemas":{"Self":{"$ref":"#/components/schemas/Other"},"Other":{"$ref":"#/components/schemas/Self"}}}`))
	if len(d.Operations) != 1 {
		t.Fatalf("%+v", d)
	}
	in := string(d.Operations[0].Input)
	for _, want := range []string{`"r":{}`, `"f":{}`, `"n":{"$ref":"#/$defs/nothing"}`, `"nothing":{}`} {
		if !strings.Contains(in, want) {
			t.Errorf("%s does not have %s", in, want)
		}
	}
}

// TestSchemasAreBounded: definitions for which there is no room accept everything.
func TestSchemasAreBounded(t *testing.T) {
	var defs []string
	for i := range 500 {
		defs = append(defs, fmt.Sprintf(`"D%d":{"type":"object","description":%q,"properties":{"a":{"$ref":"#/components/schemas/D%d"},"b":{"$ref":"#/components/schemas/D%d"}}}`, i, strings.Repeat("x", 300), (i+1)%500, (i*7)%500))
	}
	d := parse(t, one("3.0.0", "/a", `"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/D0"}}}},"responses":{"200":{"description":"","content":{"application/json":{"schema":{"$ref":"#/components/schemas/D0"}}}}}}`,
		`,"components":{"schemas":{`+strings.Join(defs, ",")+`}}`))
	o := d.Operations[0]
	if len(o.Input) > maxInputSchema+32<<10 || len(o.Output) > maxOutputSchema+32<<10 || len(o.Input) < maxInputSchema/2 {
		t.Errorf("schemas of %d and %d bytes", len(o.Input), len(o.Output))
	}
}

// FuzzParse: whatever a document says, schemas are JSON and names are unique.
func FuzzParse(f *testing.F) {
	f.Add([]byte(one("3.0.0", "/a/{b}", `"get":{"operationId":"x","parameters":[{"name":"b","in":"path","required":true,"schema":{"$ref":"#/components/schemas/A"}}],"responses":{"200":{"description":"","content":{"application/json":{"schema":{"nullable":true}}}}}}`,
		`,"components":{"schemas":{"A":{"allOf":[{"$ref":"#/components/schemas/A"}]}}}`)))
	f.Add([]byte("openapi: 3.1.0\npaths:\n  /a: &a\n    post:\n      requestBody: {content: {multipart/form-data: {schema: {properties: {f: {format: binary}}}, encoding: {f: {style: deepObject}}}}}\n  /b: *a\n"))
	f.Add([]byte(one("3.1.0", "/a", `"$ref":"#/components/pathItems/A"`, `,"components":{"pathItems":{"A":{"$ref":"#/components/pathItems/A"}}}`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, o := range d.Operations {
			if names[o.Name] || !json.Valid(o.Input) || o.Output != nil && !json.Valid(o.Output) {
				t.Errorf("%q twice, or its schemas are no JSON: %s, %s", o.Name, o.Input, o.Output)
			}
			names[o.Name] = true
		}
	})
}

// TestWhatIsSentIsPartOfAPin: how a parameter is sent, and the whole path, are in what a pin holds.
func TestWhatIsSentIsPartOfAPin(t *testing.T) {
	t.Parallel()
	long := "/a" + strings.Repeat("/b", 300)
	pinned := func(path, more string) string {
		d := parse(t, one("3.1.0", path, `"get":{"operationId":"o","parameters":[{"name":"q","in":"query","schema":{"type":"array"}`+more+`}],"responses":{}}`, ""))
		if len(d.Operations) != 1 {
			t.Fatalf("%s %s: %+v", path, more, d)
		}
		return d.Operations[0].Description + string(d.Operations[0].Input)
	}
	for _, more := range []string{`,"style":"pipeDelimited"`, `,"allowReserved":true`, `,"explode":false`} {
		if pinned("/a", more) == pinned("/a", "") {
			t.Errorf("%s changes nothing that is pinned", more)
		}
	}
	if pinned(long+"/x", "") == pinned(long+"/y", "") {
		t.Error("the end of a long path is not pinned")
	}
}
