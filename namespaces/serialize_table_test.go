package namespaces

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// plainOf turns a scope back into ordinary data, with calls as "call:<tool>".
func plainOf(t *testing.T, s *Scope) any {
	t.Helper()
	var convert func(n *node) any
	convert = func(n *node) any {
		switch n.kind {
		case objectNode:
			m := map[string]any{}
			for i, k := range n.keys {
				m[k] = convert(n.children[i])
			}
			return m
		case arrayNode:
			a := []any{}
			for _, c := range n.children {
				a = append(a, convert(c))
			}
			return a
		case callNode:
			return "call:" + n.call.Tool
		}
		var v any
		if err := json.Unmarshal(n.value, &v); err != nil {
			t.Fatalf("value %s: %v", n.value, err)
		}
		return v
	}
	return convert(s.tree())
}

type (
	base struct {
		ID     int
		Shadow string
	}
	hidden struct{ Inner string }
	both   struct{ Twice string }
	again  struct{ Twice string }
	user   struct {
		base
		*hidden
		both
		again
		Name    string `json:"name"`
		Shadow  bool
		Empty   string    `json:"empty,omitempty"`
		Zero    time.Time `json:"zero,omitzero"`
		Count   int64     `json:"count,string"`
		Skipped string    `json:"-"`
		//lint:ignore SA5008 the comma makes the name a dash
		Dash      string         `json:"-,"`
		Tags      []string       `json:"tags"`
		Extra     map[string]int `json:"extra,omitempty"`
		secret    string
		Interface any
	}
	celsius  float64
	level    int
	byteName byte
	loud     struct{ text string }
	failing  struct{}
	panicky  struct{}
	pointed  struct{ n int }
)

func (l level) MarshalText() ([]byte, error)    { return fmt.Appendf(nil, "level-%d", int(l)), nil }
func (l loud) MarshalJSON() ([]byte, error)     { return json.Marshal(map[string]any{"loud": l.text}) }
func (failing) MarshalJSON() ([]byte, error)    { return nil, errors.New("no JSON today") }
func (panicky) MarshalJSON() ([]byte, error)    { panic("boom") }
func (p *pointed) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "p%d", p.n), nil }
func (b byteName) MarshalText() ([]byte, error) { return []byte{'b', byte(b)}, nil }

func TestSerializeValues(t *testing.T) {
	type object = map[string]any
	shared := object{"n": 1}
	var nilPointer *user
	var nilMap map[string]int
	nested, err := Serialize(object{"inner": Call{Tool: "x"}}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		in   any
		want any
	}{
		{"nil", nil, nil},
		{"bool", true, true},
		{"string", "a\"\\\n\u2028<&>é", "a\"\\\n\u2028<&>é"},
		{"invalid UTF-8", "a\xffb", "a\ufffdb"},
		{"int", -7, -7.0},
		{"largest safe", int64(1<<53 - 1), float64(1<<53 - 1)},
		{"beyond safe", int64(1 << 53), "9007199254740992"},
		{"beyond safe, negative", int64(math.MinInt64), "-9223372036854775808"},
		{"uint64", uint64(math.MaxUint64), "18446744073709551615"},
		{"float", 1.5e-7, 1.5e-7},
		{"float32", float32(0.1), 0.1},
		{"named float", celsius(21.5), 21.5},
		{"large float", float64(1 << 53), float64(1 << 53)},
		{"NaN", math.NaN(), nil},
		{"infinity", math.Inf(-1), nil},
		{"complex", complex(1, -2), "(1-2i)"},
		{"channel", make(chan int), nil},
		{"unsafe pointer", unsafe.Pointer(t), nil},
		{"bytes", []byte{0, 1, 255}, "AAH/"},
		{"byte array", [2]byte{1, 2}, []any{1.0, 2.0}},
		{"bytes that know themselves", []byteName{'x'}, []any{"bx"}},
		{"raw JSON", json.RawMessage(`{"a":[1,{"b":12345678901234567890}]}`), object{"a": []any{1.0, object{"b": "12345678901234567890"}}}},
		{"json.Number", json.Number("1e400"), nil},
		{"json.Number kept", json.Number("0.10"), 0.1},
		{"json.Number no number", json.Number("many"), "many"},
		{"time", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "2026-01-02T03:04:05Z"},
		{"duration", 2 * time.Second, 2e9},
		{"big int", big.NewInt(12), 12.0},
		{"huge big int", new(big.Int).Lsh(big.NewInt(1), 100), "1267650600228229401496703205376"},
		{"text marshaler", netip.MustParseAddr("::1"), "::1"},
		{"marshaler on a value", loud{"hey"}, object{"loud": "hey"}},
		{"marshaler on a pointer", []pointed{{3}}, []any{"p3"}},
		{"error", errors.New("broken"), object{"name": "Error", "message": "broken"}},
		{"nil pointer", nilPointer, nil},
		{"nil map", nilMap, nil},
		{"nil slice", []int(nil), nil},
		{"empty slice", []int{}, []any{}},
		{"pointer", &shared, object{"n": 1.0}},
		{"shared", []any{shared, shared}, []any{object{"n": 1.0}, object{"n": 1.0}}},
		{"int keys", map[int]string{1: "a", -2: "b"}, object{"1": "a", "-2": "b"}},
		{"text keys", map[level]int{1: 5}, object{"level-1": 5.0}},
		{"any keys", map[any]any{"a": 1, 2: true, false: nil}, object{"a": 1.0, "2": true, "false": nil}},
		{"call", Call{Tool: "x"}, "call:x"},
		{"call by pointer, in an array", []any{&Call{Tool: "y"}}, []any{"call:y"}},
		{"scope", nested, object{"inner": "call:x"}},
		{"scope by value", []Scope{*nested}, []any{object{"inner": "call:x"}}},
		{"struct", user{base: base{ID: 4, Shadow: "under"}, Name: "n", Count: 9, Dash: "d", secret: "s", Interface: level(2)},
			object{"ID": 4.0, "name": "n", "Shadow": false, "count": "9", "-": "d", "tags": nil, "Interface": "level-2"}},
		{"struct with an embedded pointer", user{hidden: &hidden{"in"}, Tags: []string{"t"}},
			object{"ID": 0.0, "Inner": "in", "name": "", "Shadow": false, "count": "0", "-": "", "tags": []any{"t"}, "Interface": nil}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := Serialize(object{"v": test.in}, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(object{"v": test.want}, plainOf(t, s)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestSerializeRefuses(t *testing.T) {
	type object = map[string]any
	circular := object{}
	circular["self"] = object{"back": circular}
	loop := []any{nil}
	loop[0] = loop
	type ring struct{ Next *ring }
	r := &ring{}
	r.Next = &ring{Next: r}
	var knot any
	knot = &knot
	long := any(1)
	for range 10_000 {
		next := long
		long = &next
	}
	deep := any(1)
	for range 100 {
		deep = []any{deep}
	}
	wide := object{}
	for i := range 1000 {
		wide[fmt.Sprint("k", i)] = 1
	}
	bomb := any(1)
	for range 40 { // 2^40 values out of 40 shared ones
		bomb = []any{bomb, bomb}
	}
	tests := []struct {
		name string
		in   any
		l    Limits
		code Code
		says string
	}{
		{"function", object{"a": object{"b": func() {}}}, Limits{}, RawFunction, "a.b"},
		{"nil function", struct{ F func() }{}, Limits{}, RawFunction, "F"},
		{"method value in a list", object{"a": []any{1, t.Log}}, Limits{}, RawFunction, "a[1]"},
		{"cycle", circular, Limits{}, Cycle, "self.back"},
		{"cycle of slices", object{"a": loop}, Limits{}, Cycle, "a[0]"},
		{"cycle of structs", object{"a": r}, Limits{}, Cycle, "a.Next.Next"},
		{"pointer to itself", object{"a": &knot}, Limits{}, Cycle, "a"},
		{"endless pointers", object{"a": long}, Limits{}, TooDeep, "a"},
		{"__proto__", object{"a": object{"__proto__": 1}}, Limits{}, UnsafeKey, `"__proto__" in a`},
		{"constructor", object{"constructor": 1}, Limits{}, UnsafeKey, "constructor"},
		{"prototype from a tag", struct {
			A int `json:"prototype"`
		}{}, Limits{}, UnsafeKey, "prototype"},
		{"unsafe key in raw JSON", object{"a": json.RawMessage(`{"x":{"__proto__":{}}}`)}, Limits{}, UnsafeKey, "a.x"},
		{"empty key", object{"": 1}, Limits{}, UnsafeKey, "empty"},
		{"separator", object{"a\x1fb": 1}, Limits{}, UnsafeKey, "separator"},
		{"key not UTF-8", object{"a\xff": 1}, Limits{}, UnsafeKey, "UTF-8"},
		{"callable then", object{"then": Call{Tool: "x"}}, Limits{}, UnsafeKey, "await"},
		{"keys that become equal", object{"m": map[any]any{1: 1, "1": 2}}, Limits{}, DuplicateKey, "twice in m"},
		{"key without a text form", object{"m": map[[2]int]int{{1, 2}: 3}}, Limits{}, UnsupportedKey, "[2]int"},
		{"nil key", object{"m": map[any]int{nil: 3}}, Limits{}, UnsupportedKey, "nil"},
		{"marshaler fails", object{"a": []any{failing{}}}, Limits{}, MarshalFailed, "a[0] cannot be written as JSON"},
		{"marshaler panics", object{"a": panicky{}}, Limits{}, MarshalFailed, "boom"},
		{"call without a tool", object{"a": Call{}}, Limits{}, InvalidToolName, "a"},
		{"call with a bad mapping", object{"a": Call{Tool: "x", Mapping: Mapping{Kind: MapFunction}}}, Limits{}, InvalidMapping, "the call at a"},
		{"root is no object", []any{1}, Limits{}, ScopeNotObject, "[]interface {}"},
		{"root is a call", Call{Tool: "x"}, Limits{}, ScopeNotObject, "object"},
		{"root is nil", nil, Limits{}, ScopeNotObject, "object"},
		{"too deep", object{"a": deep}, Limits{}, TooDeep, "64 levels"},
		{"too deep in raw JSON", object{"a": json.RawMessage(strings.Repeat("[", 100) + strings.Repeat("]", 100))}, Limits{}, TooDeep, "64 levels"},
		{"too many", wide, Limits{Nodes: 1000}, TooManyNodes, "1000 values"},
		{"too many in a map", wide, Limits{Nodes: 999}, TooManyNodes, "999 values"},
		{"too many out of few", object{"a": bomb}, Limits{}, TooManyNodes, "50000 values"},
		{"too large", object{"a": strings.Repeat("x", 2000)}, Limits{Bytes: 1000}, TooLarge, "1000 bytes"},
		{"too large bytes", object{"a": make([]byte, 2000)}, Limits{Bytes: 1000}, TooLarge, "1000 bytes"},
		{"too large key", object{strings.Repeat("x", 2000): 1}, Limits{Bytes: 1000}, TooLarge, "1000 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Serialize(test.in, test.l)
			var typed *Error
			if !errors.As(err, &typed) || !errors.Is(err, test.code) || !errors.Is(err, &Error{Code: test.code}) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v; want %s with %q", err, test.code, test.says)
			}
		})
	}
}

func TestSerializeKeepsCauses(t *testing.T) {
	cause := errors.New("cause")
	_, err := Serialize(map[string]any{"a": textFailing{cause}}, Limits{})
	if !errors.Is(err, cause) || !errors.Is(err, MarshalFailed) {
		t.Errorf("got %v", err)
	}
}

type textFailing struct{ err error }

func (f textFailing) MarshalText() ([]byte, error) { return nil, f.err }

// The limits are exact: what fits is encoded in as many bytes as were counted.
func TestLimitsAreExact(t *testing.T) {
	v := map[string]any{"a\n": []any{1, "x\u2028", nil, Call{Tool: "t", Mapping: Mapping{Kind: MapPositional, Positional: []string{"p", "q"},
		Rest: "r", Fixed: map[string]json.RawMessage{"f": json.RawMessage(" [1, 2] "), "e": json.RawMessage("0")}}}}, "b": map[string]any{}, "c": []any{}}
	s, err := Serialize(v, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := s.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	const nodes, depth = 8, 3
	if _, err := Serialize(v, Limits{Bytes: len(data), Nodes: nodes, Depth: depth}); err != nil {
		t.Errorf("what fits exactly is refused: %v", err)
	}
	if _, err := Decode(data, Limits{Bytes: len(data), Nodes: nodes, Depth: depth}); err != nil {
		t.Errorf("what fits exactly is not decoded: %v", err)
	}
	for _, tight := range []struct {
		l    Limits
		code Code
	}{{Limits{Bytes: len(data) - 1}, TooLarge}, {Limits{Nodes: nodes - 1}, TooManyNodes}, {Limits{Depth: depth - 1}, TooDeep}} {
		if _, err := Serialize(v, tight.l); !errors.Is(err, tight.code) {
			t.Errorf("Serialize %+v: %v", tight.l, err)
		}
		if _, err := Decode(data, tight.l); !errors.Is(err, tight.code) {
			t.Errorf("Decode %+v: %v", tight.l, err)
		}
	}
}
