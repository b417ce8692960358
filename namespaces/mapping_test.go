package namespaces

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func raw(values ...string) []json.RawMessage {
	var list []json.RawMessage
	for _, v := range values {
		list = append(list, json.RawMessage(v))
	}
	return list
}

func fixed(pairs ...string) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return m
}

func TestApply(t *testing.T) {
	tag := Mapping{Kind: MapPositional, Positional: []string{"id"}, Rest: "labels", Fixed: fixed("source", `"cell"`)}
	named := Mapping{Kind: MapPositional, Positional: []string{"id"}, Options: true, OptionNames: []string{"a", "b"}}
	options := Mapping{Kind: MapPositional, Positional: []string{"id"}, Options: true, Fixed: fixed("source", `"cell"`)}
	for name, test := range map[string]struct {
		m    Mapping
		args []json.RawMessage
		want string
		code Code
	}{
		"default":                     {Mapping{}, raw(`{"a":1}`, `2`), `{"a":1}`, ""},
		"default, nothing":            {Mapping{}, nil, `{}`, ""},
		"default, null":               {Mapping{}, raw(` null `), `{}`, ""},
		"default, no object":          {Mapping{}, raw(`"x"`), `"x"`, ""},
		"default, fixed":              {Mapping{Fixed: fixed("a", "1")}, raw(`{"b":2}`), `{"a":1,"b":2}`, ""},
		"default, fixed wins":         {Mapping{Fixed: fixed("a", "1")}, raw(`{"a":2,"a":3}`), `{"a":1}`, ""},
		"default, fixed alone":        {Mapping{Fixed: fixed("a", "1")}, nil, `{"a":1}`, ""},
		"default, fixed on no object": {Mapping{Fixed: fixed("a", "1")}, raw(`[1]`), ``, MappingArguments},
		"positional":                  {Mapping{Kind: MapPositional, Positional: []string{"b", "a"}}, raw(`1`, `{"x":null}`), `{"a":{"x":null},"b":1}`, ""},
		"positional, fewer":           {Mapping{Kind: MapPositional, Positional: []string{"a", "b"}}, raw(`null`), `{"a":null}`, ""},
		"positional, none":            {Mapping{Kind: MapPositional, Positional: []string{"a"}}, nil, `{}`, ""},
		"positional, more":            {Mapping{Kind: MapPositional, Positional: []string{"a"}}, raw(`1`, `2`), ``, MappingArguments},
		"rest":                        {tag, raw(`7`, `"x"`, `"y"`), `{"id":7,"labels":["x","y"],"source":"cell"}`, ""},
		"rest, none":                  {tag, raw(`7`), `{"id":7,"labels":[],"source":"cell"}`, ""},
		"rest only":                   {Mapping{Kind: MapPositional, Rest: "all"}, raw(`1`, `[2]`), `{"all":[1,[2]]}`, ""},
		"options":                     {options, raw(`7`, `{"b":2}`), `{"b":2,"id":7,"source":"cell"}`, ""},
		"options, none":               {options, raw(`7`), `{"id":7,"source":"cell"}`, ""},
		"options, null":               {options, raw(`7`, ` null`), `{"id":7,"source":"cell"}`, ""},
		"options, fixed wins":         {options, raw(`7`, `{"source":1}`), `{"id":7,"source":"cell"}`, ""},
		"options by name":             {named, raw(`7`, `{"b":2}`), `{"b":2,"id":7}`, ""},
		"options of another name":     {named, raw(`7`, `{"b":2,"c":3}`), ``, MappingArguments},
		"options, no object":          {options, raw(`7`, `[1]`), ``, MappingArguments},
		"options, of an argument":     {options, raw(`7`, `{"id":8}`), ``, MappingArguments},
		"options, and more":           {options, raw(`7`, `{}`, `{}`), ``, MappingArguments},
		"not JSON":                    {Mapping{}, raw(`{`), ``, MappingArguments},
		"not JSON, later":             {tag, raw(`1`, `2,"x":3`), ``, MappingArguments},
		"empty argument":              {Mapping{}, raw(``), ``, MappingArguments},
		"function":                    {Mapping{Kind: MapFunction, Mapper: "m"}, raw(`1`), ``, MappingInPlugin},
		"unknown kind":                {Mapping{Kind: 9}, nil, ``, InvalidMapping},
	} {
		got, err := test.m.Apply(test.args)
		if string(got) != test.want || (test.code == "") != (err == nil) || test.code != "" && !errors.Is(err, test.code) {
			t.Errorf("%s: %s, %v; want %s, %s", name, got, err, test.want, test.code)
		}
	}
	_, err := Mapping{Kind: MapPositional, Positional: []string{"id"}}.Apply(raw(`1`, `0`, `[1]`))
	if err == nil || err.Error() != "takes at most 1 argument (id) but was given 3; to use it as a callback, wrap it: x => f(x)" {
		t.Errorf("as a callback: %v", err)
	}
}

func TestMappingValidate(t *testing.T) {
	for name, m := range map[string]Mapping{
		"positional fields of another kind": {Positional: []string{"a"}},
		"options of another kind":           {Options: true},
		"names of no options":               {Kind: MapPositional, Positional: []string{"a"}, OptionNames: []string{"b"}},
		"an option is positional":           {Kind: MapPositional, Positional: []string{"a"}, Options: true, OptionNames: []string{"a"}},
		"options alone":                     {Kind: MapPositional, Options: true},
		"options and rest":                  {Kind: MapPositional, Positional: []string{"a"}, Options: true, Rest: "b"},
		"rest of another kind":              {Kind: MapFunction, Mapper: "m", Rest: "a"},
		"fixed in a function":               {Kind: MapFunction, Mapper: "m", Fixed: fixed("a", "1")},
		"function without a mapper":         {Kind: MapFunction},
		"mapper of another kind":            {Mapper: "m"},
		"mapper too long":                   {Kind: MapFunction, Mapper: strings.Repeat("m", 300)},
		"unknown kind":                      {Kind: 7},
		"twice":                             {Kind: MapPositional, Positional: []string{"a", "a"}},
		"rest is positional":                {Kind: MapPositional, Positional: []string{"a"}, Rest: "a"},
		"fixed is positional":               {Kind: MapPositional, Positional: []string{"a"}, Fixed: fixed("a", "1")},
		"empty name":                        {Kind: MapPositional, Positional: []string{""}},
		"unsafe name":                       {Kind: MapPositional, Rest: "__proto__"},
		"unsafe fixed":                      {Fixed: fixed("constructor", "1")},
		"fixed is no JSON":                  {Fixed: fixed("a", "nope")},
		"fixed is empty":                    {Fixed: fixed("a", "")},
		"too many":                          {Kind: MapPositional, Positional: strings.Split(strings.Repeat("a,", 65), ",")},
	} {
		if err := m.Validate(); !errors.Is(err, InvalidMapping) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMappingCheck(t *testing.T) {
	const schema = `{"type":"object","properties":{"id":{"type":"integer"},"labels":{"type":"array"},"state":{"type":["string","null"]},
		"score":{"type":"number"},"any":true},"required":["id"],"additionalProperties":false}`
	p := func(names ...string) Mapping { return Mapping{Kind: MapPositional, Positional: names} }
	for name, test := range map[string]struct {
		m      Mapping
		schema string
		says   string // empty: fits
	}{
		"default":                   {Mapping{}, schema, ""},
		"function":                  {Mapping{Kind: MapFunction, Mapper: "m"}, schema, ""},
		"positional":                {p("id", "state"), schema, ""},
		"positional unknown":        {p("id", "stat"), schema, `positional field "stat" is not in the tool's input schema; it has: any, id, labels, score, state`},
		"rest":                      {Mapping{Kind: MapPositional, Positional: []string{"id"}, Rest: "labels"}, schema, ""},
		"rest of any type":          {Mapping{Kind: MapPositional, Positional: []string{"id"}, Rest: "any"}, schema, ""},
		"rest unknown":              {Mapping{Kind: MapPositional, Positional: []string{"id"}, Rest: "tags"}, schema, `rest field "tags"`},
		"rest no array":             {Mapping{Kind: MapPositional, Positional: []string{"id"}, Rest: "state"}, schema, "must accept an array"},
		"fixed":                     {Mapping{Fixed: fixed("state", "null", "score", "3", "id", "1", "any", "{}")}, schema, ""},
		"fixed unknown":             {Mapping{Fixed: fixed("source", "1")}, schema, `fixed field "source"`},
		"fixed of another type":     {Mapping{Fixed: fixed("state", "1")}, schema, "has type integer, but the tool's input schema says string or null"},
		"fixed fraction":            {Mapping{Fixed: fixed("id", "1.5")}, schema, "has type number"},
		"required left out":         {p("state"), schema, `requires "id", which this mapping never sets`},
		"required is fixed":         {Mapping{Kind: MapPositional, Positional: []string{"state"}, Fixed: fixed("id", "1")}, schema, ""},
		"option unknown":            {Mapping{Kind: MapPositional, Positional: []string{"id"}, Options: true, OptionNames: []string{"tags"}}, schema, `option field "tags"`},
		"required is no option":     {Mapping{Kind: MapPositional, Positional: []string{"state"}, Options: true, OptionNames: []string{"any"}}, schema, `requires "id"`},
		"required is an option":     {Mapping{Kind: MapPositional, Positional: []string{"state"}, Options: true, OptionNames: []string{"id"}}, schema, ""},
		"required may be an option": {Mapping{Kind: MapPositional, Positional: []string{"state"}, Options: true}, schema, ""},
		"no schema":                 {p("x"), ``, ""},
		"schema without properties": {p("x"), `{"type":"object"}`, ""},
		"schema true":               {p("x"), `true`, ""},
		"open schema":               {p("x"), `{"properties":{"id":{}},"additionalProperties":true}`, ""},
		"open by patterns":          {p("x-y"), `{"properties":{"id":{}},"patternProperties":{"^x-":{}}}`, ""},
		"silent schema":             {p("x"), `{"properties":{"id":{}}}`, `"x"`},
		"through a reference":       {p("id"), `{"$ref":"#/$defs/In","$defs":{"In":{"properties":{"id":{}},"required":["id"]}}}`, ""},
		"unknown through one":       {p("x"), `{"$ref":"#/$defs/In~1a","$defs":{"In/a":{"properties":{"id":{}}}}}`, `"x"`},
		"reference elsewhere":       {p("x"), `{"$ref":"https://example.com/s","properties":{"id":{}}}`, ""},
		"reference to itself":       {p("id"), `{"$ref":"#","properties":{"id":{}}}`, ""},
		"reference to nothing":      {p("id"), `{"$ref":"#/no/where","properties":{"id":{}}}`, ""},
		"allOf":                     {p("a"), `{"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}},"required":["b"]}]}`, `requires "b"`},
		"anyOf":                     {p("a"), `{"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}},"required":["b"]}]}`, ""},
		"schema is no JSON":         {p("a"), `{`, "not valid JSON"},
	} {
		err := test.m.Check(json.RawMessage(test.schema))
		if test.says == "" && err != nil || test.says != "" && (!errors.Is(err, MappingMismatch) || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v; want %q", name, err, test.says)
		}
	}
	if err := (Mapping{Kind: MapFunction}).Check(json.RawMessage(schema)); !errors.Is(err, InvalidMapping) {
		t.Errorf("a contradictory mapping: %v", err)
	}
}

func TestMappingKindText(t *testing.T) {
	for _, k := range []MappingKind{MapDefault, MapPositional, MapFunction} {
		text, err := k.MarshalText()
		if err != nil || string(text) != k.String() {
			t.Errorf("%v: %s, %v", k, text, err)
		}
		var back MappingKind
		if err := back.UnmarshalText(text); err != nil || back != k {
			t.Errorf("%v: %v, %v", k, back, err)
		}
	}
	var k MappingKind
	if err := k.UnmarshalText([]byte("Positional")); !errors.Is(err, InvalidMapping) {
		t.Errorf("other case: %v", err)
	}
	if _, err := MappingKind(9).MarshalText(); !errors.Is(err, InvalidMapping) {
		t.Errorf("unknown kind: %v", err)
	}
}

func TestErrorsNameTheNamespace(t *testing.T) {
	_, err := (&Scope{}).Resolve([]string{"x"})
	named := In("issues", err)
	if named.Error() != `namespace "issues": namespace path is not callable: "x"` || !errors.Is(named, PathNotCallable) {
		t.Errorf("got %v", named)
	}
	if In("other", named).Error() != named.Error() {
		t.Error("the first name does not stay")
	}
	if plain := errors.New("x"); In("issues", plain) != plain || In("issues", nil) != nil {
		t.Error("other errors change")
	}
}
