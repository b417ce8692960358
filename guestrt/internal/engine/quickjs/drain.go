package quickjs

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/quoinhq/quoin/internal/wire"
)

// drained is the document in which the prelude reports the program's state.
type drained struct {
	Status   wire.Status         `json:"s"`
	Value    json.RawMessage     `json:"v"`
	Err      *drainedError       `json:"e"`
	Output   [][]json.RawMessage `json:"o"` // kind, value
	Requests [][]json.RawMessage `json:"r"` // id, method, then what the method takes
	Pending  int                 `json:"p"`
	Timer    float64             `json:"t"`
}

type drainedError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack"`
	Kind    string `json:"kind"` // what made the program fail; see package prelude
}

// The kinds of failure that are not just a guest's exception.
const (
	kindCallFailed = "call_failed" // the program did not catch the error of a bridge call
	kindValueLimit = "value_limit" // the result is larger than a value may be
)

// failure is the end of a program as the prelude reports it.
func (e *drainedError) failure() *wire.GuestError {
	g := guestException(e.Name, e.Message, e.Stack)
	switch e.Kind {
	case kindCallFailed:
		g.Reason, g.Phase = wire.ReasonNestedTool, wire.PhaseBridge
	case kindValueLimit:
		g.Code, g.Reason = wire.CodeOutputLimit, ""
	}
	return g
}

// parseDrain turns the prelude's document into a report. An error means that
// the prelude is at fault. The report shares no memory with b.
func parseDrain(b []byte) (wire.Report, error) {
	var d drained
	if err := json.Unmarshal(b, &d); err != nil {
		return wire.Report{}, fmt.Errorf("the prelude's report: %w", err)
	}
	if d.Pending < 0 || d.Pending > math.MaxInt32 {
		return wire.Report{}, fmt.Errorf("the prelude's report: %d pending calls", d.Pending)
	}
	r := wire.Report{Status: d.Status, Pending: d.Pending, TimerMillis: -1}
	if d.Timer >= 0 {
		r.TimerMillis = int64(min(math.Ceil(d.Timer), math.MaxInt32))
	}
	for _, o := range d.Output {
		out, err := parseOutput(o)
		if err != nil {
			return wire.Report{}, err
		}
		r.Output = append(r.Output, out)
	}
	for i, q := range d.Requests {
		req, err := parseRequest(q)
		if err != nil {
			return wire.Report{}, err
		}
		if i > 0 && req.ID <= r.Requests[i-1].ID {
			return wire.Report{}, fmt.Errorf("the prelude's report: request %d follows request %d", req.ID, r.Requests[i-1].ID)
		}
		r.Requests = append(r.Requests, req)
	}
	switch d.Status {
	case wire.StatusIdle:
	case wire.StatusDone:
		r.Value = d.Value
		if r.Value == nil {
			r.Value = []byte("null")
		}
	case wire.StatusFailed:
		if d.Err == nil {
			return wire.Report{}, fmt.Errorf("the prelude's report: a failure without an error")
		}
		r.Err = d.Err.failure()
	default:
		return wire.Report{}, fmt.Errorf("the prelude's report: status %d", d.Status)
	}
	return r, nil
}

func parseOutput(o []json.RawMessage) (wire.Output, error) {
	var kind string
	if len(o) != 2 || json.Unmarshal(o[0], &kind) != nil {
		return wire.Output{}, fmt.Errorf("the prelude's report: malformed output")
	}
	switch k := wire.OutputKind(kind); k {
	case wire.OutputText, wire.OutputJSON:
		return wire.Output{Kind: k, JSON: o[1]}, nil
	}
	return wire.Output{}, fmt.Errorf("the prelude's report: output of kind %q", kind)
}

// requestFields is how many fields a request of each method has after its id
// and method.
var requestFields = map[wire.Method]int{
	wire.MethodCall: 2, wire.MethodSearch: 2, wire.MethodDescribe: 1, wire.MethodNamespace: 3, wire.MethodYield: 1, wire.MethodMCP: 3,
	wire.MethodCancel: 2, wire.MethodProgram: 2, wire.MethodSave: 2,
}

func parseRequest(q []json.RawMessage) (req wire.Request, err error) {
	malformed := func(what string) (wire.Request, error) {
		return wire.Request{}, fmt.Errorf("the prelude's report: a request with a malformed %s", what)
	}
	if len(q) < 2 || json.Unmarshal(q[0], &req.ID) != nil || json.Unmarshal(q[1], &req.Method) != nil {
		return malformed("head")
	}
	n, ok := requestFields[req.Method]
	if !ok || len(q) < 2+n {
		return malformed("method")
	}
	rest := q[2:]
	if string(rest[0]) != "null" && json.Unmarshal(rest[0], &req.Target) != nil {
		return malformed("target")
	}
	switch req.Method {
	case wire.MethodCall, wire.MethodSearch, wire.MethodCancel, wire.MethodProgram, wire.MethodSave:
		req.Args = rest[1]
	case wire.MethodNamespace, wire.MethodMCP:
		if json.Unmarshal(rest[1], &req.Path) != nil {
			return malformed("path")
		}
		req.Args = rest[2]
	}
	return req, nil
}
