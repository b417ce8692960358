package prelude_test

import (
	"encoding/json"
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

// outcome is a whole run of a cell.
type outcome struct {
	turn
	idle     bool // it waits for nothing
	output   []string
	requests []wire.Request
}

// run drives a cell to its end against a host that answers every call in the
// order of the requests, or in the opposite order.
func run(t *testing.T, m machine, source, config string, reverse bool) outcome {
	t.Helper()
	var out outcome
	var held []wire.Request
	r := m.load("(async()=>{"+source+"\n})", config)
	for {
		out.turn = r
		out.output = append(out.output, r.Output...)
		out.requests = append(out.requests, r.Requests...)
		if r.Status != wire.StatusIdle {
			return out
		}
		var in []wire.Settlement
		for _, q := range r.Requests {
			if q.Method == wire.MethodCancel {
				continue
			}
			if q.Method == wire.MethodCall && q.Target == "hold" {
				held = append(held, q)
				continue
			}
			in = append(in, answer(t, q))
		}
		if len(in) == 0 && r.Timer < 0 {
			if len(held) == 0 {
				out.idle = true
				return out
			}
			in, held = append(in, answer(t, held[0])), held[1:]
		}
		if len(in) == 0 {
			m.wait(r.Timer)
		}
		if reverse {
			for i, j := 0, len(in)-1; i < j; i, j = i+1, j-1 {
				in[i], in[j] = in[j], in[i]
			}
		}
		r = m.turn(in)
	}
}

// answer is the test host: echo returns its input, raw settles with the JSON it
// is given, fail rejects, hold is answered when all else is quiet.
func answer(t *testing.T, q wire.Request) wire.Settlement {
	t.Helper()
	ok := func(v any) wire.Settlement {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return wire.Settlement{ID: q.ID, OK: true, JSON: text}
	}
	switch q.Method {
	case wire.MethodSearch:
		return ok(map[string]any{"query": q.Target, "options": json.RawMessage(q.Args)})
	case wire.MethodDescribe:
		return ok(map[string]any{"id": q.Target})
	case wire.MethodNamespace, wire.MethodMCP:
		return ok(map[string]any{"ns": q.Target, "path": q.Path, "args": json.RawMessage(q.Args)})
	case wire.MethodYield:
		return ok(nil)
	}
	switch q.Target {
	case "fail", "quoin:core:fail":
		return wire.Settlement{ID: q.ID, JSON: []byte(`{"message":"it failed","code":"tool_error","toolId":"quoin:core:fail","effectStatus":"unknown"}`)}
	case "raw":
		var in struct {
			Reject bool
			JSON   string
		}
		if err := json.Unmarshal(q.Args, &in); err != nil {
			t.Fatal(err)
		}
		return wire.Settlement{ID: q.ID, OK: !in.Reject, JSON: []byte(in.JSON)}
	}
	return wire.Settlement{ID: q.ID, OK: true, JSON: q.Args}
}
