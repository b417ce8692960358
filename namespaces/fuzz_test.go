package namespaces

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// FuzzScopeDecode decodes hostile bytes. What is accepted is within the
// limits, canonical after one round, and holds no key that Serialize refuses.
func FuzzScopeDecode(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"object","entries":{}}`,
		entry(`{"kind":"value","value":{"a":[1,"x",null,true,1e400,12345678901234567890]}}`),
		entry(`{"kind":"array","items":[{"kind":"call","tool":"t"}]}`),
		entry(`{"tool":"t","mapping":{"kind":"positional","positional":["a"],"rest":"b","fixed":{"c":{"d":1}}},"kind":"call"}`),
		entry(`{"kind":"call","tool":"t","mapping":{"kind":"function","mapper":"m"}}`),
		entry(`{"kind":"call","tool":"t","template":true,"mapping":{"kind":"positional","positional":["s"],"rest":"v"}}`),
		entry(`{"kind":"call","tool":"t","mapping":{"kind":"positional","positional":["s"],"options":true,"optionNames":["v"]}}`),
		encodedSessions,
		`{"kind":"object","classes":{"A":{"methods":{"a":{"kind":"call","tool":"t","returns":"A"}},"key":"k"}},"entries":{}}`,
		`{"kind":"object","entries":{"__proto__":{"kind":"value","value":1}}}`,
		strings.Repeat(`{"kind":"array","items":[`, 70),
		`{"kind":"object","kind":"object","entries":{"a":1}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := Limits{Nodes: 200, Depth: 10, Bytes: 4096}
		s, err := Decode(data, l)
		if err != nil {
			var typed *Error
			if !errors.As(err, &typed) || typed.Code == "" {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		canonical, err := s.MarshalJSON()
		if err != nil || len(canonical) > l.Bytes || !json.Valid(canonical) {
			t.Fatalf("encoded: %s, %v", canonical, err)
		}
		again, err := Decode(canonical, l)
		if err != nil {
			t.Fatalf("the canonical form is refused: %v\n%s", err, canonical)
		}
		if twice, _ := again.MarshalJSON(); !bytes.Equal(canonical, twice) {
			t.Fatalf("not canonical:\n%s\n%s", canonical, twice)
		}
		if !json.Valid(s.Guest()) {
			t.Fatalf("guest form: %s", s.Guest())
		}
		if _, err := Serialize(s, l); err != nil {
			t.Fatalf("Serialize refuses what Decode accepts: %v", err)
		}
	})
}

// FuzzResolve resolves hostile paths, given joined by newlines. Only recorded
// paths resolve, each to its own tool.
func FuzzResolve(f *testing.F) {
	s := forgingScope(f)
	recorded := map[string]string{}
	for path, c := range s.Calls() {
		recorded[strings.Join(path, "\n")] = c.Tool
	}
	for path := range recorded {
		f.Add(path)
	}
	for _, path := range []string{"", "items\n00", "__proto__", "list\nconstructor", "admin.ban", "items\n-1", "Session\nprototype\npoll", "Line\nprototype\nkill", "list\nprototype\npoll"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		c, err := s.Resolve(strings.Split(path, "\n"))
		tool, known := recorded[path]
		if known != (err == nil) || c.Tool != tool {
			t.Fatalf("%q: %v, %v; recorded %q", path, c, err, tool)
		}
	})
}

// FuzzMapping applies hostile arguments through hostile mappings. A mapping
// that validates either fails with a typed error or yields valid JSON in which
// the fixed fields are as declared.
func FuzzMapping(f *testing.F) {
	f.Add(`{"kind":"positional","positional":["id"],"rest":"labels","fixed":{"source":"cell"}}`, `1`, `"x"`)
	f.Add(`{"kind":"positional","positional":["id"],"options":true,"fixed":{"source":"cell"}}`, `1`, `{"id":2,"source":3,"a":4}`)
	f.Add(`{"fixed":{"a":1}}`, `{"a":2,"b":3}`, `null`)
	f.Add(`{"kind":"function","mapper":"m"}`, `[]`, ``)
	f.Add(`{"kind":"default"}`, `{"__proto__":1}`, `{`)
	f.Fuzz(func(t *testing.T, mapping, first, second string) {
		var m Mapping
		if json.Unmarshal([]byte(mapping), &m) != nil || m.Validate() != nil {
			return
		}
		for _, args := range [][]json.RawMessage{nil, raw(first), raw(first, second)} {
			input, err := m.Apply(args)
			if err != nil {
				var typed *Error
				if !errors.As(err, &typed) || input != nil {
					t.Fatalf("untyped error or both: %v, %s", err, input)
				}
				continue
			}
			if !json.Valid(input) {
				t.Fatalf("%s of %s, %s: %s", mapping, first, second, input)
			}
			if len(m.Fixed) == 0 && !m.Options {
				continue
			}
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(input, &fields); err != nil {
				t.Fatal(err)
			}
			if m.Options && len(args) > 0 && !bytes.Equal(fields[m.Positional[0]], args[0]) {
				t.Fatalf("options changed %q to %s", m.Positional[0], fields[m.Positional[0]])
			}
			for name, value := range m.Fixed {
				if got, ok := fields[name]; ok && !bytes.Equal(got, bytes.TrimSpace(value)) {
					t.Fatalf("fixed %q is %s, want %s", name, got, value)
				}
			}
		}
	})
}
