package json5

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestEdits has the layouts that people write. A value of "" removes the member.
func TestEdits(t *testing.T) {
	const server = `{"command":"npx","args":["-y","x"]}`
	for _, tc := range []struct{ name, text, path, value, want string }{
		{"nothing in it", `{}`, "a", `1`, "{\n  a: 1,\n}"},
		{"nothing but a comment", "{\n  // later\n}\n", "a", `1`, "{\n  // later\n  a: 1,\n}\n"},
		{"objects on the way", "{\n  log: 1,\n}\n", "mcp servers fs", server,
			"{\n  log: 1,\n  mcp: {\n    servers: {\n      fs: { command: \"npx\", args: [\"-y\", \"x\"] },\n    },\n  },\n}\n"},
		{"behind the last comment", "{\n\ta: 1, // one\n\n\t// b: 2,\n}", "c", `3`, "{\n\ta: 1, // one\n\n\t// b: 2,\n\tc: 3,\n}"},
		{"no comma at the end", "{\n  a: 1 // one\n}", "b", `2`, "{\n  a: 1, // one\n  b: 2\n}"},
		{"JSON", "{\n    \"a\": {}\n}\n", "b c", `{"d":{"e":1}}`, "{\n    \"a\": {},\n    \"b\": {\n        \"c\": {\n            \"d\": { \"e\": 1 }\n        }\n    }\n}\n"},
		{"one line", `{ a: 1 }`, "b", server, `{ a: 1, b: { command: "npx", args: ["-y", "x"] } }`},
		{"one line, tight", `{a:1,}`, "b", `2`, `{a:1, b: 2,}`},
		{"an empty object among lines", "{\n  mcp: { servers: {} },\n}", "mcp servers fs", `1`, "{\n  mcp: { servers: {\n    fs: 1,\n  } },\n}"},
		{"lines of Windows", "{\r\n  a: 1,\r\n}\r\n", "b", `2`, "{\r\n  a: 1,\r\n  b: 2,\r\n}\r\n"},
		{"a bracket behind the last member", "{\n  a: 1 }", "b", `2`, "{\n  a: 1,\n  b: 2\n}"},
		{"a name that needs quotes", "{\n a: 1,\n}", "b-c", `2`, "{\n a: 1,\n \"b-c\": 2,\n}"},
		{"replaced", "{\n  a: /* x */ [1, 2], // y\n}", "a", `"z"`, "{\n  a: /* x */ \"z\", // y\n}"},
		{"replaced within", `{a: {b: {c: 1}}}`, "a b c", `true`, `{a: {b: {c: true}}}`},
		{"signs of HTML", `{}`, "a", `"<&>"`, "{\n  a: \"<&>\",\n}"},

		{"a line goes", "{\n  a: 1,\n  b: {\n    c: 2,\n  },\n  d: 3,\n}", "b", ``, "{\n  a: 1,\n  d: 3,\n}"},
		{"comments around stay", "{\n  // of a\n  a: 1, // one\n  b: 2,\n}", "a", ``, "{\n  // of a\n  // one\n  b: 2,\n}"},
		{"the last one goes", "{\n  a: 1, // one\n  b: 2\n}", "b", ``, "{\n  a: 1 // one\n}"},
		{"the only one goes", "{ a: 1 }", "a", ``, "{}"},
		{"the first of a line", "{ a: 1, b: 2 }", "a", ``, "{ b: 2 }"},
		{"the last of a line", "{ a: 1, b: 2 }", "b", ``, "{ a: 1 }"},
		{"a comment before the comma", "{a: 1 /* x */ , b: 2}", "a", ``, "{/* x */  b: 2}"},
		{"a comma on the next line", "{\n  a: 1\n  , b: 2\n}", "a", ``, "{\n  b: 2\n}"},
		{"a line comment before the comma", "{\n  a: 1 // x\n  , b: 2\n}", "a", ``, "{\n  // x\n   b: 2\n}"},
		{"not there", "{ a: 1 }", "b c", ``, "{ a: 1 }"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := strings.Fields(tc.path)
			got, err := Set([]byte(tc.text), path, []byte(tc.value))
			if tc.value == "" {
				got, err = Remove([]byte(tc.text), path)
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestEditFaults(t *testing.T) {
	for _, tc := range []struct{ name, text, path, value, want string }{
		{"no JSON5", "{a", "b", "1", "1:3: the text ends here"},
		{"no value", "{}", "b", "", "the value: 1:1: the text ends here"},
		{"no object", "[]", "a", "1", "1:1: the text is a list; expected an object"},
		{"no object on the way", "{\n a: {b: null}}", "a b c", "1", "2:9: a.b is null; expected an object"},
		{"twice", "{a: 1,\n 'a': 2}", "a", "1", "2:2: a stands here a second time; remove one of them"},
		{"too deep", "{a:1}", "b", strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), "after the change: 1:"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Set([]byte(tc.text), strings.Fields(tc.path), []byte(tc.value))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v; want %q", err, tc.want)
			}
		})
	}
}

// FuzzEdit: after each edit the text has the value that a map of Go would have, and
// every comment that was not inside what was replaced or removed, in order.
func FuzzEdit(f *testing.F) {
	for _, text := range []string{
		"{}", "// x\n{a:1,/* y */'b':{c:2},}\n// z", "{\n\ta: { // in\n\t\tb: [1, // two\n\t\t],\n\t} /* after */\n}", `{"a": {"b": {}}, "c": null}`,
		"{a:1/**/,b/**/:/**/2/**/}", "{\r\n  a: 1 // x\r\n  , b: 2\r\n}", "{a:{b:1\u2028}//\u2028}", "{a:1 // x\r}", "\ufeff{ a :\ufeff{},}",
	} {
		for _, path := range []string{"a", "b", "a b", "a b c"} {
			f.Add([]byte(text), path, []byte(`{"x":[1,{"y":"z"}]}`))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, way string, value []byte) {
		path := strings.Fields(way)
		if len(path) == 0 || len(path) > 4 || !utf8.ValidString(way) || !utf8.Valid(value) || !json.Valid(value) {
			return
		}
		checkEdit(t, text, path, value)
		checkEdit(t, text, path, nil)
	})
}

// checkEdit sets the value, or removes it if it is nil.
func checkEdit(t *testing.T, text []byte, path []string, value []byte) {
	edited, err := Remove(text, path)
	if value != nil {
		edited, err = Set(text, path, value)
	}
	before, ok := read(t, text)
	if err != nil || !ok {
		return
	}
	after, ok := read(t, edited)
	if !ok {
		t.Fatalf("%q became %q, which has no JSON", text, edited)
	}
	want := before
	if value != nil {
		var v any
		if json.Unmarshal(value, &v) != nil {
			return // a number beyond float64
		}
		want = with(before, path, v)
	} else {
		without(before, path)
	}
	if d := cmp.Diff(want, after); d != "" {
		t.Errorf("%q became %q (-want +got):\n%s", text, edited, d)
	}
	left, now := commentsBut(t, text, path, value == nil), commentsBut(t, edited, nil, false)
	if !slices.Equal(left, now) {
		t.Errorf("%q became %q: comments %q, expected %q", text, edited, now, left)
	}
}

// read returns the value of a text as Go has it.
func read(t *testing.T, text []byte) (v any, ok bool) {
	parsed, err := Parse(text)
	if err != nil {
		return nil, false
	}
	b, err := parsed.AppendJSON(nil)
	if err != nil || json.Unmarshal(b, &v) != nil {
		return nil, false
	}
	return v, true
}

func with(at any, path []string, v any) any {
	if len(path) == 0 {
		return v
	}
	m, ok := at.(map[string]any)
	if !ok {
		m = map[string]any{}
	}
	m[path[0]] = with(m[path[0]], path[1:], v)
	return m
}

func without(at any, path []string) {
	m, ok := at.(map[string]any)
	if ok && len(path) == 1 {
		delete(m, path[0])
	} else if ok {
		without(m[path[0]], path[1:])
	}
}

// commentsBut returns the comments that are not inside the member at path, or its value
// if the member stays.
func commentsBut(t *testing.T, text []byte, path []string, removed bool) (kept []string) {
	e, err := open(text)
	if err != nil {
		t.Fatal(err)
	}
	var gone span
	if path != nil {
		if _, _, m, err := e.walk(path); err != nil {
			t.Fatal(err)
		} else if m != nil {
			gone = span{m.Value.Offset, m.Value.end}
			if removed {
				gone.start = m.Offset
			}
		}
	}
	for _, c := range e.comments {
		if c.start < gone.start || c.end > gone.end {
			kept = append(kept, string(text[c.start:c.end]))
		}
	}
	return kept
}
