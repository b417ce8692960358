package namespaces

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// keyed is a method with a place for the key.
func keyed(tool string) Call {
	return Call{Tool: tool, Mapping: Mapping{Kind: MapPositional, Positional: []string{"id"}}}
}

// sessions returns classes with methods that return results of each other.
func sessions() *Class {
	session, line := &Class{Name: "Session", Key: "id"}, &Class{Name: "Line", Key: "no"}
	poll, lines, open := keyed("poll"), keyed("lines"), keyed("open")
	poll.Returns, lines.Returns, open.Returns = session, line, session
	session.Methods = map[string]Call{"poll": poll, "lines": lines, "kill": {Tool: "kill", Mapping: Mapping{Kind: MapFunction, Mapper: "m"}}}
	line.Methods = map[string]Call{"open": open}
	return session
}

const encodedSessions = `{"kind":"object","entries":{"start":{"kind":"call","tool":"start","returns":"Session"}},"classes":{` +
	`"Line":{"key":"no","methods":{"open":{"kind":"call","tool":"open","mapping":{"kind":"positional","positional":["id"]},"returns":"Session"}}},` +
	`"Session":{"key":"id","methods":{"kill":{"kind":"call","tool":"kill","mapping":{"kind":"function","mapper":"m"}},` +
	`"lines":{"kind":"call","tool":"lines","mapping":{"kind":"positional","positional":["id"]},"returns":"Line"},` +
	`"poll":{"kind":"call","tool":"poll","mapping":{"kind":"positional","positional":["id"]},"returns":"Session"}}}}}`

const guestSessions = `{"kind":"object","entries":{"start":{"kind":"call","returns":"Session"}},"classes":{` +
	`"Line":{"key":"no","methods":{"open":{"kind":"call","returns":"Session"}}},` +
	`"Session":{"key":"id","methods":{"kill":{"kind":"call"},"lines":{"kind":"call","returns":"Line"},"poll":{"kind":"call","returns":"Session"}}}}}`

func TestClasses(t *testing.T) {
	given, err := Serialize(map[string]any{"start": Call{Tool: "start", Returns: sessions()}}, Limits{Bytes: len(encodedSessions)})
	if err != nil {
		t.Fatal(err)
	}
	read, err := Decode([]byte(encodedSessions), Limits{Bytes: len(encodedSessions)})
	if err != nil {
		t.Fatal(err)
	}
	grafted, err := Serialize(map[string]any{"start": Call{Tool: "start", Returns: sessions()}, "list": Call{Tool: "start", Returns: sessions(), ReturnsIn: "all"}, "part": map[string]any{"s": given, "r": *read}}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(slices.Collect(grafted.Classes())); n != 2 {
		t.Errorf("equal classes are %d", n)
	}
	text, err := grafted.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := Decode(text, Limits{}); err != nil || !strings.Contains(string(back.Guest()), `"list":{"kind":"call","returns":"Session","returnsIn":"all"}`) {
		t.Errorf("read again: %s, %v", back.Guest(), err)
	}
	for name, s := range map[string]*Scope{"given": given, "read": read} {
		if got, _ := s.MarshalJSON(); string(got) != encodedSessions {
			t.Errorf("%s:\n got %s\nwant %s", name, got, encodedSessions)
		}
		if got := string(s.Guest()); got != guestSessions {
			t.Errorf("%s, for the guest:\n got %s\nwant %s", name, got, guestSessions)
		}
		checkSessions(t, name, s)
	}
	checkSessions(t, "grafted", grafted)
	if _, err := Serialize(map[string]any{"start": Call{Tool: "start", Returns: sessions()}}, Limits{Bytes: len(encodedSessions) - 1}); !errors.Is(err, TooLarge) {
		t.Errorf("a byte too much: %v", err)
	}
	if _, err := Serialize(map[string]any{"start": Call{Tool: "start", Returns: sessions()}}, Limits{Nodes: 7}); !errors.Is(err, TooManyNodes) {
		t.Errorf("a value too much: %v", err)
	}
	for _, empty := range []*Scope{nil, {}} {
		if n := len(slices.Collect(empty.Classes())); n != 0 {
			t.Errorf("an empty scope has %d classes", n)
		}
	}
}

func checkSessions(t *testing.T, name string, s *Scope) {
	t.Helper()
	var paths []string
	for path, c := range s.Calls() {
		paths = append(paths, strings.Join(path, "."))
		got, err := s.Resolve(path)
		if err != nil || got.Tool != c.Tool {
			t.Errorf("%s: %q resolves to %v, %v", name, path, got, err)
		}
		if c.Tool == "poll" && got.Returns.Methods["lines"].Returns.Methods["open"].Returns != got.Returns {
			t.Errorf("%s: classes of methods are copies", name)
		}
	}
	const want = "Line.prototype.open Session.prototype.kill Session.prototype.lines Session.prototype.poll"
	if got := strings.Join(paths, " "); !strings.HasSuffix(got, "start "+want) {
		t.Errorf("%s: calls %s", name, got)
	}
	for range s.Calls() { // stopping is fine
		break
	}
	if err := s.CheckTargets([]string{"start", "open", "kill", "lines"}); !errors.Is(err, UndeclaredTool) || !strings.HasPrefix(err.Error(), `Session.prototype.poll targets the undeclared tool "poll"`) {
		t.Errorf("%s: %v", name, err)
	}
	for _, path := range [][]string{{"Session"}, {"Session", "prototype"}, {"Session", "poll"}, {"Session", "prototype", "id"}, {"Session", "prototype", "poll", "poll"},
		{"start", "prototype", "poll"}, {"start", "poll"}, {"Session", "__proto__", "poll"}, {"session", "prototype", "poll"}, {"", "prototype", ""}} {
		if c, err := s.Resolve(path); !errors.Is(err, PathNotCallable) {
			t.Errorf("%s: %q resolves to %v, %v", name, path, c, err)
		}
	}
}

func TestBadClasses(t *testing.T) {
	one := func(name string, m Call) map[string]Call { return map[string]Call{name: m} }
	many := map[string]Call{}
	for i := range 65 {
		many["m"+strings.Repeat("x", i)] = keyed("t")
	}
	tag := keyed("t")
	tag.Template = true
	for name, test := range map[string]struct {
		class Class
		says  string
	}{
		"no name":                 {Class{Key: "id", Methods: one("a", keyed("t"))}, "needs a name"},
		"no identifier":           {Class{Name: "a b", Key: "id", Methods: one("a", keyed("t"))}, "needs a name"},
		"long name":               {Class{Name: strings.Repeat("a", 129), Key: "id", Methods: one("a", keyed("t"))}, "needs a name"},
		"no key":                  {Class{Name: "A", Methods: one("a", keyed("t"))}, "needs a key"},
		"unsafe key":              {Class{Name: "A", Key: "__proto__", Methods: one("a", keyed("t"))}, "needs a key"},
		"no methods":              {Class{Name: "A", Key: "id"}, "has no methods"},
		"too many methods":        {Class{Name: "A", Key: "id", Methods: many}, "too many methods"},
		"method of an odd name":   {Class{Name: "A", Key: "id", Methods: one("a-b", keyed("t"))}, "no JavaScript identifier"},
		"then":                    {Class{Name: "A", Key: "id", Methods: one("then", keyed("t"))}, "asked for"},
		"toJSON":                  {Class{Name: "A", Key: "id", Methods: one("toJSON", keyed("t"))}, "asked for"},
		"toString":                {Class{Name: "A", Key: "id", Methods: one("toString", keyed("t"))}, "asked for"},
		"__proto__":               {Class{Name: "A", Key: "id", Methods: one("__proto__", keyed("t"))}, "asked for"},
		"method like the key":     {Class{Name: "A", Key: "id", Methods: one("id", keyed("t"))}, "like its key"},
		"tag":                     {Class{Name: "A", Key: "id", Methods: one("a", tag)}, "tag of templates"},
		"no place for the key":    {Class{Name: "A", Key: "id", Methods: one("a", Call{Tool: "t"})}, "without a place for the key"},
		"the key among the rest":  {Class{Name: "A", Key: "id", Methods: one("a", Call{Tool: "t", Mapping: Mapping{Kind: MapPositional, Rest: "r"}})}, "without a place for the key"},
		"method without a tool":   {Class{Name: "A", Key: "id", Methods: one("a", keyed(""))}, "the call at A.prototype.a names no usable tool"},
		"method of a bad mapping": {Class{Name: "A", Key: "id", Methods: one("a", Call{Tool: "t", Mapping: Mapping{Kind: MapFunction}})}, "the call at A.prototype.a"},
	} {
		given := map[string]any{"x": Call{Tool: "t", Returns: &test.class}}
		if _, err := Serialize(given, Limits{}); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v; want %q", name, err, test.says)
		}
		encoded := (&Scope{root: &node{kind: objectNode}, classes: []*Class{&test.class}}).encode((*Call).encode)
		if _, err := Decode(encoded, Limits{}); err == nil || !strings.Contains(err.Error(), test.says) && !errors.Is(err, MalformedScope) && !errors.Is(err, UnsafeKey) {
			t.Errorf("%s, decoded: %v; want %q", name, err, test.says)
		}
	}
	a, b := &Class{Name: "A", Key: "id", Methods: one("a", keyed("t"))}, &Class{Name: "A", Key: "id", Methods: one("a", keyed("u"))}
	if _, err := Serialize([]any{Call{Tool: "t", Returns: a}, Call{Tool: "t", Returns: b}}, Limits{}); !errors.Is(err, InvalidClass) || !strings.Contains(err.Error(), "is there twice") {
		t.Errorf("two classes of one name: %v", err)
	}
	hidden := func(inner *Class) *Class {
		m := keyed("t")
		m.Returns = inner
		return &Class{Name: "B", Key: "id", Methods: one("b", m)}
	}
	if _, err := Serialize([]any{Call{Tool: "t", Returns: hidden(a)}, Call{Tool: "t", Returns: hidden(b)}}, Limits{}); !errors.Is(err, InvalidClass) {
		t.Errorf("two classes of one name behind equal ones: %v", err)
	}
}

func TestDecodeRefusesClasses(t *testing.T) {
	root := func(classes string) string {
		return `{"kind":"object","entries":{"x":{"kind":"call","tool":"t","returns":"A"}},"classes":` + classes + `}`
	}
	const good = `{"key":"id","methods":{"a":{"kind":"call","tool":"t","mapping":{"kind":"positional","positional":["id"]}}}}`
	if _, err := Decode([]byte(root(`{"A":`+good+`}`)), Limits{}); err != nil {
		t.Fatal(err)
	}
	var crowd []string
	for i := range 65 {
		crowd = append(crowd, `"`+strings.Repeat("A", i+1)+`":`+good)
	}
	for name, test := range map[string]struct {
		in   string
		code Code
	}{
		"returns nothing that is there": {root(`{}`), MalformedScope},
		"another class":                 {root(`{"B":` + good + `}`), MalformedScope},
		"no classes":                    {root(`null`), MalformedScope},
		"a list":                        {root(`[]`), MalformedScope},
		"twice":                         {root(`{"A":` + good + `,"A":` + good + `}`), DuplicateKey},
		"classes twice":                 {root(`{"A":` + good + `},"classes":{}`), DuplicateKey},
		"too many":                      {root(`{` + strings.Join(crowd, ",") + `}`), MalformedScope},
		"unknown field":                 {root(`{"A":{"key":"id","methods":{},"x":1}}`), MalformedScope},
		"key twice":                     {root(`{"A":{"key":"id","key":"id","methods":{}}}`), DuplicateKey},
		"methods twice":                 {root(`{"A":{"key":"id","methods":{},"methods":{}}}`), DuplicateKey},
		"no methods":                    {root(`{"A":{"key":"id"}}`), InvalidClass},
		"no key":                        {root(`{"A":{"methods":{"a":{"kind":"call","tool":"t","mapping":{"kind":"function","mapper":"m"}}}}}`), InvalidClass},
		"key is no string":              {root(`{"A":{"key":1,"methods":{}}}`), MalformedScope},
		"method is data":                {root(`{"A":{"key":"id","methods":{"a":{"kind":"value","value":1}}}}`), MalformedScope},
		"method is an object":           {root(`{"A":{"key":"id","methods":{"a":{"kind":"object","entries":{}}}}}`), MalformedScope},
		"method twice":                  {root(`{"A":` + strings.Replace(good, `{"a":`, `{"a":{"kind":"call","tool":"t"},"a":`, 1) + `}`), DuplicateKey},
		"classes below the root":        {entry(`{"kind":"object","entries":{},"classes":{}}`), MalformedScope},
		"classes of a call":             {entry(`{"kind":"call","tool":"t","classes":{}}`), MalformedScope},
		"classes of a list":             {`{"kind":"array","items":[],"classes":{}}`, MalformedScope},
		"kind root":                     {`{"kind":"root","entries":{}}`, MalformedScope},
		"returns no string":             {entry(`{"kind":"call","tool":"t","returns":1}`), MalformedScope},
		"returnsIn without returns":     {entry(`{"kind":"call","tool":"t","returnsIn":"a"}`), InvalidClass},
		"returnsIn of no field":         {strings.Replace(root(`{"A":`+good+`}`), `"returns":"A"`, `"returns":"A","returnsIn":"__proto__"`, 1), InvalidClass},
		"returns of data":               {entry(`{"kind":"value","value":1,"returns":"A"}`), MalformedScope},
		"template no boolean":           {entry(`{"kind":"call","tool":"t","template":"yes"}`), MalformedScope},
		"template of data":              {entry(`{"kind":"value","value":1,"template":true}`), MalformedScope},
		"template of the default":       {entry(`{"kind":"call","tool":"t","template":true}`), InvalidMapping},
		"template with options":         {entry(`{"kind":"call","tool":"t","template":true,"mapping":{"kind":"positional","positional":["a"],"options":true}}`), InvalidMapping},
		"options no boolean":            {entry(`{"kind":"call","tool":"t","mapping":{"kind":"positional","positional":["a"],"options":1}}`), MalformedScope},
	} {
		if _, err := Decode([]byte(test.in), Limits{}); !errors.Is(err, test.code) {
			t.Errorf("%s: %v; want %s", name, err, test.code)
		}
	}
}

func TestTemplateSurvivesTheWire(t *testing.T) {
	const want = `{"kind":"object","entries":{"k":{"kind":"call","tool":"t","mapping":{"kind":"function","mapper":"m"},"template":true}}}`
	s, err := Serialize(map[string]any{"k": Call{Tool: "t", Mapping: Mapping{Kind: MapFunction, Mapper: "m"}, Template: true}}, Limits{Bytes: len(want)})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := s.MarshalJSON(); string(got) != want {
		t.Errorf("got %s", got)
	}
	if got := string(s.Guest()); got != `{"kind":"object","entries":{"k":{"kind":"call","template":true}}}` {
		t.Errorf("for the guest: %s", got)
	}
}

func TestClassCheck(t *testing.T) {
	c := Call{Returns: &Class{Name: "A", Key: "id", Methods: map[string]Call{"poll": keyed("t")}}}
	for schema, says := range map[string]string{
		``: "", `true`: "", `{`: "", `{"type":"string"}`: "",
		`{"properties":{"id":{}}}`:                                                                "",
		`{"properties":{"other":{}}}`:                                                             `the key "id"`,
		`{"properties":{"other":{}},"additionalProperties":true}`:                                 "",
		`{"properties":{"id":{},"poll":{}}}`:                                                      `the method "poll"`,
		`{"type":"array","items":{"properties":{"id":{}}}}`:                                       "",
		`{"type":"array","items":{"properties":{"other":{}}}}`:                                    `the key "id"`,
		`{"$ref":"#/$defs/R","$defs":{"R":{"anyOf":[{"properties":{"id":{}}},{"type":"null"}]}}}`: "",
	} {
		if err := c.Check(nil, json.RawMessage(schema)); says == "" && err != nil || says != "" && (!errors.Is(err, InvalidClass) || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v; want %q", schema, err, says)
		}
	}
}

func TestClassCheckBelowAField(t *testing.T) {
	c := Call{ReturnsIn: "list", Returns: &Class{Name: "A", Key: "id", Methods: map[string]Call{"poll": keyed("t")}}}
	for schema, says := range map[string]string{
		``: "", `true`: "", `{"properties":{"list":{}}}`: "",
		`{"properties":{"list":{"type":"array","items":{"properties":{"id":{}}}}}}`:    "",
		`{"properties":{"list":{"type":"array","items":{"properties":{"other":{}}}}}}`: `the key "id"`,
		`{"properties":{"list":{"properties":{"id":{},"poll":{}}}}}`:                   `the method "poll"`,
		`{"properties":{"other":{}}}`:                                                  `the field "list" of results`,
	} {
		if err := c.Check(nil, json.RawMessage(schema)); says == "" && err != nil || says != "" && (!errors.Is(err, InvalidClass) || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v; want %q", schema, err, says)
		}
	}
	c.Mapping = Mapping{Kind: MapPositional, Positional: []string{"x"}}
	if err := c.Check(json.RawMessage(`{"properties":{"y":{}}}`), nil); !errors.Is(err, MappingMismatch) {
		t.Errorf("a mapping that does not fit: %v", err)
	}
}

func TestMethodMessages(t *testing.T) {
	s, err := Serialize(map[string]any{"start": Call{Tool: "start", Returns: sessions()}}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Resolve([]string{"Session", "prototype", "poll"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Mapping.Apply(raw(`"s1"`)); err != nil || string(got) != `{"id":"s1"}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := c.Mapping.Apply(raw(`"s1"`, `2`, `3`)); err == nil || !strings.HasPrefix(err.Error(), "takes at most 0 arguments () but was given 2") {
		t.Errorf("%v", err)
	}
}
