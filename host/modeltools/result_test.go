package modeltools_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/modeltools"
)

func shown(t *testing.T, r *codemode.Result, people ...string) string {
	t.Helper()
	b, err := modeltools.RenderResult(r, people)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func item(kind codemode.OutputKind, value string) codemode.Output {
	return codemode.Output{Kind: kind, Value: json.RawMessage(value)}
}

// TestRenderResult: what a model reads, to the letter.
func TestRenderResult(t *testing.T) {
	t.Parallel()
	used := codemode.NewTelemetry()
	used.CallCount = 7
	calls := []codemode.PendingCall{{ID: "1", Method: "call", Tool: "quoin:issues:list"}, {ID: "2", Method: "call", Tool: "quoin:issues:list"}, {ID: "3", Method: "search"}}
	for _, tc := range []struct {
		name   string
		result codemode.Result
		people []string
		want   string
	}{
		{"a value", codemode.Result{Status: codemode.StatusCompleted, Value: json.RawMessage(`{"n":"<1>"}`), Telemetry: used},
			nil, `{"status":"completed","value":{"n":"<1>"}}`},
		{"no value", codemode.Result{Status: codemode.StatusCompleted}, nil, `{"status":"completed","value":null}`},
		{"output", codemode.Result{Status: codemode.StatusCompleted, Value: json.RawMessage("1"), Output: []codemode.Output{item(codemode.OutputText, `"a"`), item(codemode.OutputJSON, `{"b":1}`)}},
			nil, `{"status":"completed","value":1,"output":["a",{"b":1}]}`},
		{"pending tools", codemode.Result{Status: codemode.StatusWaiting, RunID: "run_1", Reason: codemode.ReasonPendingTools, PendingToolCalls: calls},
			nil, `{"status":"waiting","runId":"run_1","reason":"pending_tools","pending":["quoin:issues:list x 2"]}`},
		{"a person", codemode.Result{Status: codemode.StatusWaiting, RunID: "run_1", Reason: codemode.ReasonApproval, PendingToolCalls: calls[:1]},
			[]string{"Decide."}, `{"status":"waiting","runId":"run_1","reason":"approval","pending":["quoin:issues:list"],"waitingFor":["Decide."],` +
				`"next":"Tell the user what a person has to do. Call wait with this runId when it is done."}`},
		{"an exception", codemode.Result{Status: codemode.StatusFailed, Error: "TypeError: no\n    at f (cell.js:1:2)\n    at g (cell.js:2:2)\n    at h (cell.js:3:2)", Code: codemode.CodeInternal, Reason: codemode.ReasonGuestException, Phase: codemode.PhaseGuest, Telemetry: used},
			nil, `{"status":"failed","error":"TypeError: no\n    at f (cell.js:1:2)\n    at g (cell.js:2:2)","code":"program_error","next":"Nothing was changed: correct the program and send it again."}`},
		{"an exception after calls", codemode.Result{Status: codemode.StatusFailed, Error: "E", Code: codemode.CodeInternal, Reason: codemode.ReasonGuestException, Phase: codemode.PhaseGuest, Dispatched: true},
			nil, `{"status":"failed","error":"E","code":"program_error","next":"Tools were called before this failed. Find out what they have changed, then send a program for the rest only."}`},
		{"an exception after calls that change nothing", codemode.Result{Status: codemode.StatusFailed, Error: "E", Code: codemode.CodeInternal, Reason: codemode.ReasonGuestException, Phase: codemode.PhaseGuest, Dispatched: true, Unchanged: true},
			nil, `{"status":"failed","error":"E","code":"program_error","next":"Nothing was changed: correct the program and send it again."}`},
		{"a busy run", codemode.Result{Status: codemode.StatusFailed, Error: "E", Code: codemode.CodeInvalidInput, Reason: codemode.ReasonRunBusy, Phase: codemode.PhaseInput, Dispatched: true},
			nil, `{"status":"failed","error":"E","code":"run_busy","next":"Call wait again with the same runId, when any other wait of this run has returned."}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := shown(t, &tc.result, tc.people...)
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			var schema jsonschema.Schema
			var value any
			if err := errors.Join(json.Unmarshal(modeltools.ResultSchema(), &schema), json.Unmarshal([]byte(got), &value)); err != nil {
				t.Fatal(err)
			}
			resolved, err := schema.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(value); err != nil {
				t.Errorf("the schema refuses it: %v", err)
			}
		})
	}
}

// TestOverflowIsShort: a model is shown the start of output that was too large, not as
// much as the limit allows.
func TestOverflowIsShort(t *testing.T) {
	t.Parallel()
	r := &codemode.Result{Status: codemode.StatusFailed, Error: "too much", Code: codemode.CodeOutputLimit, Phase: codemode.PhaseGuest}
	for range 3 {
		r.Output = append(r.Output, item(codemode.OutputText, `"`+strings.Repeat("x", 20_000)+`"`))
	}
	if got := shown(t, r); len(got) > 2300 || !strings.Contains(got, "more bytes]") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// TestEveryFailureHasOneNextStep: of every code and reason a model learns what to do,
// from the error itself or from next. A new one has to be decided about.
func TestEveryFailureHasOneNextStep(t *testing.T) {
	t.Parallel()
	said := map[string]bool{ // by the messages themselves
		"unsupported_language": true, "shell_command": true, "run_unavailable": true, "run_expired": true,
		"too_many_pending_tool_calls": true, "invalid_input": true, "output_limit_exceeded": true,
	}
	waiting := map[string]bool{"pending_tools": true, "timer": true, "yield": true, "approval": true}
	for kind, words := range constants(t, "../codemode/error.go") {
		for _, word := range words {
			r := &codemode.Result{Status: codemode.StatusFailed, Error: "E", Phase: codemode.PhaseGuest}
			switch kind {
			case "Code":
				r.Code = codemode.Code(word)
			case "Reason":
				r.Code, r.Reason = codemode.CodeInvalidInput, codemode.Reason(word)
			default:
				continue
			}
			if waiting[word] {
				continue
			}
			if got := shown(t, r); strings.Contains(got, `"next":`) == said[word] {
				t.Errorf("%s %s: %s", kind, word, got)
			}
		}
	}
}

// constants returns the texts of the typed constants of a file, by type.
func constants(t *testing.T, path string) map[string][]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		typ, typed := v.Type.(*ast.Ident)
		lit, literal := v.Values[0].(*ast.BasicLit)
		if !typed || !literal {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		out[typ.Name] = append(out[typ.Name], text)
		return true
	})
	if len(out["Reason"]) < 20 || len(out["Code"]) < 8 {
		t.Fatalf("constants of %s: %v", path, out)
	}
	return out
}
