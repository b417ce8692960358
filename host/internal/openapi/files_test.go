package openapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// severalFiles is a document in several files, with each kind of reference that leads
// nowhere.
var severalFiles = map[string]string{
	"spec/api.yaml": `openapi: 3.0.0
info: {title: M, version: "2"}
paths:
  /one: {get: {$ref: './resources/one.yml'}}
  /two: {$ref: 'resources/two.yml', parameters: [{name: extra, in: header, required: true}]}
  /three/{id}: {get: {operationId: three, parameters: [{$ref: 'parameters.yml#/id'}], responses: {'200': {$ref: 'responses.json#/ok'}}}}
  /four: {post: {operationId: four, requestBody: {$ref: 'my%20bodies.yml#/four'}}}
  /gone: {$ref: 'resources/gone.yml'}
  /body: {post: {operationId: body, requestBody: {$ref: 'gone.yml'}}}
  /schema: {post: {operationId: schema, requestBody: {content: {application/json: {schema: {$ref: 'gone.yml'}}}}}}
  /media: {post: {operationId: media, requestBody: {content: {application/json: {$ref: 'gone.yml'}}}}}
  /read: {get: {operationId: read, requestBody: {$ref: 'gone.yml'}}}
  /pointer: {get: {operationId: pointer, parameters: [{$ref: 'parameters.yml#/nothing'}]}}
  /outside: {get: {operationId: outside, parameters: [{$ref: '../outside.yml'}]}}
  /absolute: {get: {operationId: absolute, parameters: [{$ref: '/etc/passwd'}]}}
  /link: {get: {operationId: link, parameters: [{$ref: 'link.yml'}]}}
  /pipe: {get: {operationId: folder, parameters: [{$ref: 'resources'}]}}
  /web: {get: {operationId: web, parameters: [{$ref: 'http://127.0.0.1:1/p.yml'}]}}
  /broken: {get: {operationId: broken, parameters: [{$ref: 'broken.yml'}]}}
  /self: {get: {operationId: self, parameters: [{$ref: 'api.yaml#/components/parameters/q'}]}}
components: {parameters: {q: {name: q, in: query, required: true}}}
`,
	"spec/resources/one.yml":  "operationId: oneList\nparameters: [{$ref: '../parameters.yml#/account'}, {$ref: '../api.yaml#/components/parameters/q'}]\n",
	"spec/resources/two.yml":  "get: {operationId: two}\ndelete: {operationId: twoDelete, parameters: [{$ref: '#/shared/tag'}]}\nshared: {tag: {name: tag_name, in: query, required: true}}\n",
	"spec/parameters.yml":     "id: {name: id, in: path, required: true, schema: {type: integer}}\naccount: {name: account, in: query, required: true, schema: {$ref: 'models/account.yml'}}\n",
	"spec/models/account.yml": "type: object\nproperties: {parent: {$ref: 'account.yml'}, owner: {$ref: 'owner.json#/Owner'}, lost: {$ref: 'lost.yml'}}\n",
	"spec/models/owner.json":  `{"Owner":{"type":"string"}}`,
	"spec/my bodies.yml":      "four: {required: true, content: {application/json: {schema: {type: object}}}}\n",
	"spec/responses.json":     `{"ok":{"description":"","content":{"application/json":{"schema":{"$ref":"models/owner.json#/Owner"}}}}}`,
	"spec/broken.yml":         "a: [",
	"outside.yml":             "name: q\nin: query\n",
}

// written writes files and returns the directory.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFiles: a document that is a file is read with those below its directory. An operation
// with a part that cannot be read is left out.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := written(t, severalFiles)
	if err := os.Symlink(filepath.Join(dir, "outside.yml"), filepath.Join(dir, "spec", "link.yml")); err != nil {
		// Windows lets few users make links.
		t.Skip(err)
	}
	d, err := Load(t.Context(), filepath.Join(dir, "spec", "api.yaml"), http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range d.Operations {
		compiles(t, o.Name, o.Input)
		got[o.Name] = string(o.Input) + string(o.Output)
	}
	const end = `,"additionalProperties":false`
	if diff := cmp.Diff(map[string]string{
		"oneList": `{"type":"object","properties":{"account":{"$ref":"#/$defs/account.yml"},"q":{}},"required":["account","q"]` + end +
			`,"$defs":{"account.yml":{"type":"object","properties":{"parent":{"$ref":"#/$defs/account.yml"},"owner":{"$ref":"#/$defs/Owner"},"lost":{}}},"Owner":{"type":"string"}}}`,
		"two":       `{"type":"object","properties":{"extra":{"description":"(header)"}},"required":["extra"]` + end + `}`,
		"twoDelete": `{"type":"object","properties":{"tag_name":{},"extra":{"description":"(header)"}},"required":["tag_name","extra"]` + end + `}`,
		"three":     `{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]` + end + `}{"$ref":"#/$defs/Owner","$defs":{"Owner":{"type":"string"}}}`,
		"four":      `{"type":"object","properties":{"body":{"type":"object"}},"required":["body"]` + end + `}`,
		"self":      `{"type":"object","properties":{"q":{}},"required":["q"]` + end + `}`,
	}, got); diff != "" {
		t.Error(diff)
	}
	left := map[string]string{}
	for _, l := range d.LeftOut {
		left[l.Name+" "+l.Reference] = l.Reason
	}
	const unread, outside = "a part of it is in a file that cannot be read: ", "a part of it is in a file outside the directory of the document"
	gone := left["body gone.yml"]
	if diff := cmp.Diff(map[string]string{
		"/gone resources/gone.yml": gone, "body gone.yml": gone, "schema gone.yml": gone, "media gone.yml": gone, "read gone.yml": gone,
		"pointer parameters.yml#/nothing": "a part of it is not where its reference leads",
		"outside ../outside.yml":          outside, "absolute /etc/passwd": outside,
		"link link.yml":                unread + "path escapes from parent",
		"folder resources":             unread + "it is not a regular file",
		"web http://127.0.0.1:1/p.yml": "a part of it stands at another address, and no other is read; bundle the document into one file",
		"broken broken.yml":            left["broken broken.yml"],
	}, left); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(gone, unread) || !strings.HasPrefix(left["broken broken.yml"], unread+"it is neither JSON nor YAML") {
		t.Errorf("%q, %q", gone, left["broken broken.yml"])
	}
}

// TestFilesOfAnAddress: a document at an address is read alone, and offers nothing hollow.
func TestFilesOfAnAddress(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api.yaml" {
			t.Errorf("%s was asked for", r.URL.Path)
		}
		fmt.Fprint(w, severalFiles["spec/api.yaml"])
	}))
	defer web.Close()
	d, err := Load(t.Context(), web.URL+"/api.yaml", http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Operations) != 0 {
		t.Errorf("%+v", d.Operations)
	}
	for _, l := range d.LeftOut {
		if !strings.Contains(l.Reason, "bundle") || l.Reference == "" {
			t.Errorf("%+v", l)
		}
	}
}

// TestFilesAreBounded: many files, or such as are large once they are read, are not.
func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		alias := fmt.Sprintf("*%c", 'a'+i)
		bomb += fmt.Sprintf("%c: &%c [%s]\n", 'b'+i, 'b'+i, strings.Repeat(alias+",", 9)+alias)
	}
	dir := written(t, map[string]string{"a.yaml": "openapi: 3.1\npaths:\n  /a: {$ref: bomb.yml}\n  /b: {$ref: fine.yml}\n", "bomb.yml": bomb, "fine.yml": "get: {operationId: b}\n"})
	d, err := Load(t.Context(), filepath.Join(dir, "a.yaml"), http.DefaultTransport)
	if err != nil || len(d.Operations) != 0 || len(d.LeftOut) != 2 || !strings.Contains(d.LeftOut[1].Reason, "MiB in them") {
		t.Errorf("%+v, %v", d, err)
	}
}
