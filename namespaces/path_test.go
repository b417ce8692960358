package namespaces

import (
	"errors"
	"strings"
	"testing"
)

func forgingScope(t testing.TB) *Scope {
	t.Helper()
	call := func(tool string) Call { return Call{Tool: tool} }
	s, err := Serialize(map[string]any{
		"list":  call("list"),
		"admin": map[string]any{"ban": call("ban"), "note": "text"},
		"items": []any{call("zero"), map[string]any{"get": call("get")}, 3},
		"a.b":   call("dotted"),
		"naïve": call("composed"),
		"0":     call("key zero"),
		"data":  map[string]any{"list": 1},
		"start": Call{Tool: "start", Returns: sessions()},
	}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestResolve(t *testing.T) {
	s := forgingScope(t)
	for _, test := range []struct {
		path []string
		tool string
	}{
		{[]string{"list"}, "list"},
		{[]string{"admin", "ban"}, "ban"},
		{[]string{"items", "0"}, "zero"},
		{[]string{"items", "1", "get"}, "get"},
		{[]string{"a.b"}, "dotted"},
		{[]string{"naïve"}, "composed"},
		{[]string{"0"}, "key zero"},
	} {
		if c, err := s.Resolve(test.path); err != nil || c.Tool != test.tool {
			t.Errorf("%q: %v, %v", test.path, c, err)
		}
	}
}

func TestResolveRefusesForgedPaths(t *testing.T) {
	s := forgingScope(t)
	for name, path := range map[string][]string{
		"nil":                          nil,
		"empty":                        {},
		"empty segment":                {""},
		"empty segments around":        {"", "list", ""},
		"unknown":                      {"delete"},
		"other case":                   {"List"},
		"space":                        {"list "},
		"NUL":                          {"list\x00"},
		"partial":                      {"admin"},
		"array itself":                 {"items"},
		"data":                         {"admin", "note"},
		"into data":                    {"admin", "note", "length"},
		"data of the same name":        {"data", "list"},
		"beyond a callable":            {"list", "call"},
		"twice":                        {"list", "list"},
		"prototype":                    {"__proto__"},
		"prototype of a callable":      {"list", "__proto__"},
		"constructor":                  {"constructor"},
		"constructor of an object":     {"admin", "constructor", "constructor"},
		"inherited":                    {"toString"},
		"inherited by arrays":          {"items", "map"},
		"length":                       {"items", "length"},
		"value in an array":            {"items", "2"},
		"index beyond":                 {"items", "3"},
		"index with zeros":             {"items", "00"},
		"index with a leading zero":    {"items", "01", "get"},
		"index with a sign":            {"items", "+0"},
		"negative index":               {"items", "-0"},
		"negative index one":           {"items", "-1"},
		"fraction":                     {"items", "0.0"},
		"exponent":                     {"items", "0e0"},
		"hex":                          {"items", "0x0"},
		"space before an index":        {"items", " 0"},
		"other digits":                 {"items", "٠"},
		"huge index":                   {"items", strings.Repeat("9", 40)},
		"overflowing index":            {"items", "18446744073709551616"},
		"empty index":                  {"items", ""},
		"joined by a dot":              {"admin.ban"},
		"joined by the separator":      {"admin\x1fban"},
		"joined by a slash":            {"admin/ban"},
		"split at a dot":               {"a", "b"},
		"decomposed":                   {"nai\u0308ve"},
		"invalid UTF-8":                {"na\xefve"},
		"look-alike":                   {"lіst"}, // Cyrillic і
		"zero width":                   {"list\u200b"},
		"an endless path":              make([]string, 100_000),
		"an endless path of real keys": append([]string{"list"}, make([]string, 1000)...),
	} {
		c, err := s.Resolve(path)
		if !errors.Is(err, PathNotCallable) || c.Tool != "" {
			t.Errorf("%s: %v, %v", name, c, err)
		}
		if err != nil && len(err.Error()) > 1500 {
			t.Errorf("%s: the message has %d bytes", name, len(err.Error()))
		}
	}
	var zero Scope
	if _, err := zero.Resolve([]string{"list"}); !errors.Is(err, PathNotCallable) {
		t.Errorf("zero scope: %v", err)
	}
	if _, err := (*Scope)(nil).Resolve(nil); !errors.Is(err, PathNotCallable) {
		t.Errorf("nil scope: %v", err)
	}
}

func TestCheckTargets(t *testing.T) {
	s := forgingScope(t)
	all := []string{"list", "ban", "zero", "get", "dotted", "composed", "key zero", "start", "poll", "lines", "kill", "open"}
	if err := s.CheckTargets(all); err != nil {
		t.Error(err)
	}
	for i, missing := range all {
		rest := append(append([]string{}, all[:i]...), all[i+1:]...)
		err := s.CheckTargets(rest)
		if !errors.Is(err, UndeclaredTool) || !strings.Contains(err.Error(), `"`+missing+`"`) {
			t.Errorf("without %s: %v", missing, err)
		}
	}
	err := s.CheckTargets([]string{"list", "zero", "dotted", "composed", "key zero", "ban"})
	if err == nil || !strings.Contains(err.Error(), "items[1].get") {
		t.Errorf("the place is not named: %v", err)
	}
}

func TestGuestHoldsNoToolNames(t *testing.T) {
	s, err := Serialize(map[string]any{"x": Call{Tool: "secret_tool", Mapping: Mapping{Kind: MapPositional,
		Positional: []string{"secret_field"}, Fixed: nil}}, "y": []any{1, Call{Tool: "secret_tool"}}}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"kind":"object","entries":{"x":{"kind":"call"},"y":{"kind":"array","items":[{"kind":"value","value":1},{"kind":"call"}]}}}`
	if got := string(s.Guest()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string((&Scope{}).Guest()); got != `{"kind":"object","entries":{}}` {
		t.Errorf("zero scope: %s", got)
	}
}
