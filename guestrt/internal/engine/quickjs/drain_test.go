package quickjs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/internal/wire"
)

func TestParseDrain(t *testing.T) {
	got, err := parseDrain([]byte(`{"s":0,"o":[["text","hi"],["json",{"a":1}]],"p":5,"t":1.2,"r":[
		[1,"call","a",{"x":1}],[2,"search","q",{"limit":3}],[3,"describe","d"],[4,"namespace","ns",["a","b"],[1,2]],[5,"yield",null],[6,"mcp","docs",["a-b"],[{}]],[7,"cancel",null,[1,4]]]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := wire.Report{
		Pending: 5, TimerMillis: 2,
		Output: []wire.Output{{Kind: wire.OutputText, JSON: []byte(`"hi"`)}, {Kind: wire.OutputJSON, JSON: []byte(`{"a":1}`)}},
		Requests: []wire.Request{
			{ID: 1, Method: wire.MethodCall, Target: "a", Args: []byte(`{"x":1}`)},
			{ID: 2, Method: wire.MethodSearch, Target: "q", Args: []byte(`{"limit":3}`)},
			{ID: 3, Method: wire.MethodDescribe, Target: "d"},
			{ID: 4, Method: wire.MethodNamespace, Target: "ns", Path: []string{"a", "b"}, Args: []byte(`[1,2]`)},
			{ID: 5, Method: wire.MethodYield},
			{ID: 6, Method: wire.MethodMCP, Target: "docs", Path: []string{"a-b"}, Args: []byte(`[{}]`)},
			{ID: 7, Method: wire.MethodCancel, Args: []byte(`[1,4]`)},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestParseDrainEndings(t *testing.T) {
	for in, want := range map[string]wire.Report{
		`{"s":1,"v":[1],"p":0,"t":-1}`: {Status: wire.StatusDone, Value: []byte("[1]"), TimerMillis: -1},
		`{"s":1,"p":0,"t":0}`:          {Status: wire.StatusDone, Value: []byte("null")},
		`{"s":2,"e":{"name":"E","message":"m","stack":"s","kind":"x"},"t":1e300}`: {Status: wire.StatusFailed, TimerMillis: 1<<31 - 1,
			Err: &wire.GuestError{Name: "E", Message: "m", Stack: "s", Code: codeInternal, Reason: reasonException, Phase: phaseGuest}},
	} {
		got, err := parseDrain([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", in, d)
		}
	}
}

// TestParseDrainRefuses: a prelude that breaks the contract is noticed.
func TestParseDrainRefuses(t *testing.T) {
	for _, in := range []string{
		``, `1`, `{"s":7}`, `{"s":2}`, `{"o":[["text"]]}`, `{"o":[["html","x"]]}`, `{"o":[[1,2]]}`, `{"r":[[]]}`, `{"r":[[1]]}`,
		`{"r":[[-1,"call","a",{}]]}`, `{"r":[[1,"fork","a",{}]]}`, `{"r":[[1,"call","a"]]}`, `{"r":[[1,"call",2,{}]]}`, `{"r":[[1,"namespace","a",1,[]]]}`,
		`{"r":[[1,"mcp","a",["b"]]]}`, `{"r":[[1,"mcp","a","b",[]]]}`,
		`{"r":[[2,"yield",null],[2,"yield",null]]}`, `{"r":[[2,"yield",null],[1,"yield",null]]}`,
	} {
		if r, err := parseDrain([]byte(in)); err == nil {
			t.Errorf("%s: %+v", in, r)
		}
	}
}
