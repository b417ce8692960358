package declare_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/declare"
	"github.com/quoinhq/quoin/namespaces"
)

// FuzzTool: no schema and no text make the renderer fail, write without bound, or
// leave a comment or a brace open.
func FuzzTool(f *testing.F) {
	for _, tc := range shapes {
		f.Add(tc.schema, "A description.", "name")
		f.Add(`{"properties":{"a":`+tc.schema+`},"$defs":{"x":`+tc.schema+`}}`, "*/", "")
	}
	f.Fuzz(func(t *testing.T, schema, description, function string) {
		tool := &catalog.Tool{Name: "n", Owner: "o", Source: catalog.SourceQuoin, Label: function, Description: description,
			Parameters: json.RawMessage(schema), Output: json.RawMessage(schema),
			Examples: []catalog.Example{{Description: description, Input: json.RawMessage(schema), Output: json.RawMessage(schema)}}}
		if function != "" {
			function = catalog.SafeName(function)
		}
		text := string(declare.Tool(tool, function[:min(len(function), 256)]))
		if len(text) > declare.MaxBytes || !utf8.ValidString(text) {
			t.Fatalf("%d bytes, valid UTF-8: %v", len(text), utf8.ValidString(text))
		}
		balanced(t, text)
	})
}

// balanced reads a file only for its comments, strings and brackets.
func balanced(t *testing.T, text string) {
	t.Helper()
	var open []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				t.Fatalf("a comment does not end:\n%s", text)
			}
			i += 2 + end + 1
		case strings.HasPrefix(text[i:], "//"):
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				t.Fatalf("a line does not end:\n%s", text)
			}
			i += end
		case c == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\n' {
					t.Fatalf("a string goes over a line:\n%s", text)
				}
				if text[i] == '\\' {
					i++
				}
			}
		case strings.IndexByte("{[(", c) >= 0:
			open = append(open, c)
		case strings.IndexByte("}])", c) >= 0:
			if len(open) == 0 || !pair(open[len(open)-1], c) {
				t.Fatalf("%q at %d closes nothing:\n%s", c, i, text)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Fatalf("brackets %q stay open:\n%s", open, text)
	}
}

func pair(open, close byte) bool {
	return open == '{' && close == '}' || open == '[' && close == ']' || open == '(' && close == ')'
}

// FuzzNamespace: no scope and no schema make the renderer fail, write without
// bound, or leave a comment or a brace open.
func FuzzNamespace(f *testing.F) {
	const scope = `{"kind":"object","entries":{"a":{"kind":"call","tool":"t","mapping":{"kind":"positional","positional":["id","x-y"],"rest":"l","fixed":{"s":1}}},` +
		`"*/":{"kind":"array","items":[{"kind":"value","value":"*/"},{"kind":"call","tool":"t","mapping":{"kind":"default","fixed":{"a":1}}}]},"d":{"kind":"value","value":{"e":[1,null]}}}}`
	const methods = `{"kind":"object","entries":{"a":{"kind":"call","tool":"t","returns":"A","returnsIn":"l"},"b":{"kind":"call","tool":"t","returns":"A",` +
		`"template":true,"mapping":{"kind":"function","mapper":"m"}}},"classes":{"A":{"key":"id","methods":{"c":{"kind":"call","tool":"t","returns":"A",` +
		`"mapping":{"kind":"positional","positional":["id"],"options":true}},"d":{"kind":"call","tool":"t","mapping":{"kind":"positional","positional":["id"],"options":true}}}}}}`
	for _, tc := range shapes {
		f.Add(methods, `{"properties":{"a":`+tc.schema+`,"id":`+tc.schema+`,"l":`+tc.schema+`},"required":["id"],"$defs":{"x":`+tc.schema+`}}`, "A description.")
		f.Add(scope, tc.schema, "A description.")
		f.Add(scope, `{"properties":{"a":`+tc.schema+`,"id":`+tc.schema+`,"l":`+tc.schema+`},"required":["id"],"$defs":{"x":`+tc.schema+`}}`, "*/")
	}
	f.Fuzz(func(t *testing.T, encoded, schema, description string) {
		scope, err := namespaces.Decode([]byte(encoded), namespaces.Limits{})
		if err != nil {
			return
		}
		tool := &catalog.Tool{Name: "t", Description: description, Parameters: json.RawMessage(schema), Output: json.RawMessage(schema)}
		reg := &namespaces.Registration{GlobalName: "Global", Description: description, Prompt: description}
		text := string(declare.Namespace(reg, scope, func(string) *catalog.Tool { return tool }))
		if len(text) > declare.MaxBytes || !utf8.ValidString(text) {
			t.Fatalf("%d bytes, valid UTF-8: %v", len(text), utf8.ValidString(text))
		}
		balanced(t, text)
	})
}
