package jsonschema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/jsonschema"
)

func TestParse(t *testing.T) {
	root := jsonschema.Parse(json.RawMessage(` { "b" : [1.50, -2e3, true , false, null], "a\u0062": "x\n\ud83d\ude00", "b2":{}, "é" : "\\", "b":7 } `)).Root()
	var keys []string
	for _, m := range root.Fields() {
		keys = append(keys, m.Key)
	}
	if want := []string{"b", "ab", "b2", "é"}; !slices.Equal(keys, want) {
		t.Errorf("members %q, want %q", keys, want)
	}
	if n := root.Get("b"); n.Count() != 7 || string(n.Raw) != "7" {
		t.Errorf("of two members with one name, the last does not count: %+v", n)
	}
	if got := root.Get("ab").Str(); got != "x\n😀" {
		t.Errorf("got %q", got)
	}
	if n := root.Get("b2"); !n.Is(jsonschema.Object) || n.Get("x") != nil || string(n.Raw) != "{}" {
		t.Errorf("got %+v", n)
	}
}

// TestNothing: what is not there reads as nothing.
func TestNothing(t *testing.T) {
	for _, doc := range []string{``, `{`, `{} {}`, `{"a":1,}`, strings.Repeat("[", 200) + strings.Repeat("]", 200), "[" + strings.Repeat("1,", 20_000) + "1]", `"` + strings.Repeat("x", 600<<10) + `"`} {
		d := jsonschema.Parse(json.RawMessage(doc))
		n := d.Root()
		if d != nil || n != nil {
			t.Errorf("%.20s was read", doc)
		}
		if n.Get("a").Get("b").Is(jsonschema.Null) || n.List() != nil || n.Fields() != nil || n.Str() != "" || n.Words() != nil || n.Count() != -1 || d.Target("#") != nil || d.Ref(n) != nil {
			t.Errorf("%.20s reads as something", doc)
		}
	}
}

func TestWords(t *testing.T) {
	for doc, want := range map[string][]string{`"a"`: {"a"}, `["a","b","a",1,null]`: {"a", "b"}, `{}`: nil, `[]`: nil} {
		if got := jsonschema.Parse(json.RawMessage(doc)).Root().Words(); !slices.Equal(got, want) {
			t.Errorf("%s: %q", doc, got)
		}
	}
	for doc, want := range map[string]int{`3`: 3, `0`: 0, `-1`: -1, `1.5`: -1, `"3"`: -1} {
		if got := jsonschema.Parse(json.RawMessage(doc)).Root().Count(); got != want {
			t.Errorf("%s: %d", doc, got)
		}
	}
}

func TestTarget(t *testing.T) {
	d := jsonschema.Parse(json.RawMessage(`{"$id":"https://example.org/s#","$defs":{"a/b":{"const":1},"c~d":{"const":2},"é":{"$anchor":"name","const":3,"$defs":{"in":{"properties":{"p":{"$anchor":"deep","const":5}}}}}},"anyOf":[{"const":4}]}`))
	for ref, want := range map[string]string{
		"#/$defs/a~1b": "1", "#/$defs/c~0d": "2", "#/$defs/%C3%A9": "3", "#/$defs/é": "3", "#name": "3", "#deep": "5", "#/anyOf/0": "4", "https://example.org/s#/anyOf/0": "4",
		"#/anyOf/1": "", "#/anyOf/x": "", "#/$defs/none": "", "#none": "", "other.json": "", "": "", "https://example.org/t#/anyOf/0": "",
	} {
		got := ""
		if n := d.Target(ref); n != nil {
			got = string(n.Get("const").Raw)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", ref, got, want)
		}
	}
	if d.Target("#") != d.Root() || d.Target("https://example.org/s#") != d.Root() {
		t.Error("# is not the root")
	}
	if got := jsonschema.RefName("#/$defs/a~1%20b"); got != "a/ b" {
		t.Errorf("got %q", got)
	}
}

// FuzzParse holds the tree against the decoder of the standard library.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":null}],"a":"\ud800"}`, ` [ true , false ] `, "\"\xff\"", `-0.1E+2`, `{"":{"":""}}`, `"\\\""`} {
		f.Add([]byte(s), "#/a/0")
	}
	f.Fuzz(func(t *testing.T, doc []byte, ref string) {
		d := jsonschema.Parse(doc)
		if d == nil {
			return
		}
		d.Target(ref)
		jsonschema.RefName(ref)
		var want any
		dec := json.NewDecoder(bytes.NewReader(doc))
		dec.UseNumber()
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("%q was read: %v", doc, err)
		}
		if got := plain(d.Root()); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v, want %#v", doc, got, want)
		}
		if again := jsonschema.Parse(d.Root().Raw); !reflect.DeepEqual(plain(again.Root()), want) {
			t.Errorf("%q: the root is %q", doc, d.Root().Raw)
		}
	})
}

// plain returns what encoding/json makes of the same value.
func plain(n *jsonschema.Node) any {
	switch n.Kind {
	case jsonschema.Bool:
		return n.Truth
	case jsonschema.Number:
		return json.Number(n.Text)
	case jsonschema.String:
		return n.Text
	case jsonschema.Array:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = plain(item)
		}
		return list
	case jsonschema.Object:
		m := map[string]any{}
		for _, f := range n.Members {
			m[f.Key] = plain(f.Value)
		}
		return m
	}
	return nil
}

// TestManyMembers: twins are found in large objects too.
func TestManyMembers(t *testing.T) {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, `"k%d":%d,`, i%40, i)
	}
	fields := jsonschema.Parse(json.RawMessage("{" + strings.TrimSuffix(b.String(), ",") + "}")).Root().Fields()
	if len(fields) != 40 || fields[3].Value.Text != "43" || fields[39].Value.Text != "39" {
		t.Errorf("got %d members: %+v", len(fields), fields)
	}
}
