package namespaces

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func entry(node string) string { return `{"kind":"object","entries":{"k":` + node + `}}` }

func TestDecodeAccepts(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"canonical":           {entry(`{"kind":"value","value":1}`), entry(`{"kind":"value","value":1}`)},
		"spaces":              {" {\"kind\" : \"object\",\n\"entries\" : {} } ", `{"kind":"object","entries":{}}`},
		"fields in any order": {`{"entries":{"k":{"tool":"t","kind":"call"}},"kind":"object"}`, entry(`{"kind":"call","tool":"t"}`)},
		"keys are sorted": {`{"kind":"object","entries":{"b":{"kind":"value","value":1},"a":{"kind":"value","value":2}}}`,
			`{"kind":"object","entries":{"a":{"kind":"value","value":2},"b":{"kind":"value","value":1}}}`},
		"compound values become nodes": {entry(`{"kind":"value","value":{"x":[1,null]}}`),
			entry(`{"kind":"object","entries":{"x":{"kind":"array","items":[{"kind":"value","value":1},{"kind":"value","value":null}]}}}`)},
		"numbers JavaScript cannot hold": {entry(`{"kind":"value","value":[9007199254740993,1e999]}`),
			entry(`{"kind":"array","items":[{"kind":"value","value":"9007199254740993"},{"kind":"value","value":null}]}`)},
		"escapes are undone": {entry(`{"kind":"value","value":"\u003cb\u003e \ud83d\ude00"}`), entry(`{"kind":"value","value":"<b> 😀"}`)},
		"mapping": {entry(`{"kind":"call","tool":"t","mapping":{"fixed":{"f": [1, 2]},"rest":"r","positional":["p"],"kind":"positional"}}`),
			entry(`{"kind":"call","tool":"t","mapping":{"kind":"positional","positional":["p"],"rest":"r","fixed":{"f":[1,2]}}}`)},
		"default mapping": {entry(`{"kind":"call","tool":"t","mapping":{}}`), entry(`{"kind":"call","tool":"t"}`)},
		"function mapping": {entry(`{"kind":"call","tool":"t","mapping":{"kind":"function","mapper":"m"}}`),
			entry(`{"kind":"call","tool":"t","mapping":{"kind":"function","mapper":"m"}}`)},
	} {
		s, err := Decode([]byte(test.in), Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, _ := s.MarshalJSON(); string(got) != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, test.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	nest := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	for name, test := range map[string]struct {
		in   string
		code Code
	}{
		"nothing":                   {"", MalformedScope},
		"no JSON":                   {"{", MalformedScope},
		"trailing data":             {`{"kind":"object","entries":{}} {}`, MalformedScope},
		"not UTF-8":                 {entry("{\"kind\":\"value\",\"value\":\"\xff\"}"), MalformedScope},
		"null":                      {"null", MalformedScope},
		"a list":                    {"[]", MalformedScope},
		"root is a value":           {`{"kind":"value","value":1}`, ScopeNotObject},
		"root is a call":            {`{"kind":"call","tool":"t"}`, ScopeNotObject},
		"root is an array":          {`{"kind":"array","items":[]}`, ScopeNotObject},
		"no kind":                   {`{"entries":{}}`, MalformedScope},
		"no content":                {`{"kind":"object"}`, MalformedScope},
		"unknown kind":              {entry(`{"kind":"function","value":1}`), MalformedScope},
		"kind in other case":        {entry(`{"Kind":"value","value":1}`), MalformedScope},
		"kind is no string":         {entry(`{"kind":1,"value":1}`), MalformedScope},
		"unknown field":             {entry(`{"kind":"value","value":1,"x":1}`), MalformedScope},
		"content of another":        {entry(`{"kind":"value","items":[]}`), MalformedScope},
		"two contents":              {entry(`{"kind":"object","entries":{},"value":1}`), MalformedScope},
		"mapping on a value":        {entry(`{"kind":"value","value":1,"mapping":{}}`), MalformedScope},
		"field twice":               {entry(`{"kind":"value","kind":"value","value":1}`), DuplicateKey},
		"value twice":               {entry(`{"kind":"value","value":1,"value":2}`), DuplicateKey},
		"entry twice":               {`{"kind":"object","entries":{"a":{"kind":"value","value":1},"a":{"kind":"call","tool":"t"}}}`, DuplicateKey},
		"entry twice by escapes":    {`{"kind":"object","entries":{"a":{"kind":"value","value":1},"\u0061":{"kind":"value","value":1}}}`, DuplicateKey},
		"entry twice by surrogates": {`{"kind":"object","entries":{"\ud800":{"kind":"value","value":1},"\ud801":{"kind":"value","value":1}}}`, DuplicateKey},
		"twice in a plain value":    {entry(`{"kind":"value","value":{"a":1,"a":2}}`), DuplicateKey},
		"__proto__":                 {`{"kind":"object","entries":{"__proto__":{"kind":"value","value":1}}}`, UnsafeKey},
		"__proto__ by escapes":      {`{"kind":"object","entries":{"\u005f_proto__":{"kind":"value","value":1}}}`, UnsafeKey},
		"unsafe in a plain value":   {entry(`{"kind":"value","value":{"constructor":1}}`), UnsafeKey},
		"empty key":                 {`{"kind":"object","entries":{"":{"kind":"value","value":1}}}`, UnsafeKey},
		"separator":                 {`{"kind":"object","entries":{"a\u001fb":{"kind":"value","value":1}}}`, UnsafeKey},
		"callable then":             {`{"kind":"object","entries":{"then":{"kind":"call","tool":"t"}}}`, UnsafeKey},
		"entries is a list":         {`{"kind":"object","entries":[]}`, MalformedScope},
		"items is an object":        {entry(`{"kind":"array","items":{}}`), MalformedScope},
		"node is a string":          {entry(`"x"`), MalformedScope},
		"no tool":                   {entry(`{"kind":"call"}`), MalformedScope},
		"empty tool":                {entry(`{"kind":"call","tool":""}`), InvalidToolName},
		"tool is a number":          {entry(`{"kind":"call","tool":1}`), MalformedScope},
		"tool unprintable":          {entry(`{"kind":"call","tool":"a\u0000"}`), InvalidToolName},
		"mapping is a list":         {entry(`{"kind":"call","tool":"t","mapping":[]}`), MalformedScope},
		"mapping kind":              {entry(`{"kind":"call","tool":"t","mapping":{"kind":"eval"}}`), InvalidMapping},
		"mapping field":             {entry(`{"kind":"call","tool":"t","mapping":{"Kind":"default"}}`), MalformedScope},
		"mapping field twice":       {entry(`{"kind":"call","tool":"t","mapping":{"rest":"a","rest":"b","kind":"positional"}}`), DuplicateKey},
		"fixed twice":               {entry(`{"kind":"call","tool":"t","mapping":{"fixed":{"a":1,"a":2}}}`), DuplicateKey},
		"fixed twice within":        {entry(`{"kind":"call","tool":"t","mapping":{"fixed":{"a":{"b":1,"b":2}}}}`), DuplicateKey},
		"fixed too deep":            {entry(`{"kind":"call","tool":"t","mapping":{"fixed":{"a":` + nest("[", "", "]", 100) + `}}}`), TooDeep},
		"fixed unsafe":              {entry(`{"kind":"call","tool":"t","mapping":{"fixed":{"__proto__":1}}}`), InvalidMapping},
		"contradictory mapping":     {entry(`{"kind":"call","tool":"t","mapping":{"positional":["a"]}}`), InvalidMapping},
		"positional numbers":        {entry(`{"kind":"call","tool":"t","mapping":{"kind":"positional","positional":[1]}}`), MalformedScope},
		"positional endless":        {entry(`{"kind":"call","tool":"t","mapping":{"kind":"positional","positional":[` + strings.Repeat(`"a",`, 99) + `"a"]}}`), InvalidMapping},
		"deep":                      {nest(`{"kind":"object","entries":{"k":`, `{"kind":"value","value":1}`, `}}`, 65), TooDeep},
		"deep beyond JSON":          {nest(`{"kind":"array","items":[`, ``, `]}`, 1_000_000), MalformedScope},
		"deep plain value":          {entry(`{"kind":"value","value":` + nest("[", "", "]", 9000) + `}`), TooDeep},
		"many":                      {entry(`{"kind":"value","value":[0` + strings.Repeat(",0", 60_000) + `]}`), TooManyNodes},
		"large":                     {entry(`{"kind":"value","value":"` + strings.Repeat("x", 5<<20) + `"}`), TooLarge},
		"larger than is looked at":  {strings.Repeat(" ", 40<<20), TooLarge},
	} {
		s, err := Decode([]byte(test.in), Limits{})
		if !errors.Is(err, test.code) || s != nil {
			t.Errorf("%s: %v; want %s", name, err, test.code)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%s: the message has %d bytes", name, len(err.Error()))
		}
	}
}

func TestUnmarshalKeepsTheOldOnFailure(t *testing.T) {
	s := forgingScope(t)
	before := string(s.Guest())
	if err := json.Unmarshal([]byte(`{"kind":"value","value":1}`), s); !errors.Is(err, ScopeNotObject) {
		t.Errorf("got %v", err)
	}
	if string(s.Guest()) != before {
		t.Error("a failed UnmarshalJSON changed the scope")
	}
	data, err := json.Marshal(struct{ S *Scope }{s})
	if err != nil {
		t.Fatal(err)
	}
	var back struct{ S *Scope }
	if err := json.Unmarshal(data, &back); err != nil || string(back.S.Guest()) != before {
		t.Errorf("inside another value: %v", err)
	}
}
