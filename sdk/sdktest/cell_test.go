package sdktest_test

import (
	"context"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/sdk"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

func TestMain(m *testing.M) { sdktest.Main(m) }

type addInput struct {
	A int `json:"a"`
	B int `json:"b"`
}

// sums returns a plugin that adds, for any run, and tells the session of the run.
func sums() *sdk.Plugin {
	p := sdk.New(sdk.Info{ID: "sums", Version: "1.0.0", Description: "Adds."}, nil)
	add := sdk.AddTool(p, sdk.Tool{Name: "sums_add", Description: "Adds two numbers.", ReadOnly: true},
		func(_ context.Context, _ *sdk.Call, in addInput) (int, error) {
			if in.A < 0 {
				return 0, sdk.Errorf("negative", "%d is negative", in.A)
			}
			return in.A + in.B, nil
		})
	p.AddNamespace(sdk.Namespace{
		ID: "sums", Global: "Sums", Description: "Adds.",
		CreateScope: func(_ context.Context, rc sdk.RunContext) (sdk.Scope, error) {
			return sdk.Scope{"add": sdk.Verb(add).Positional("a", "b"), "who": rc.SessionID}, nil
		},
		Tools: []*sdk.ToolRef{add},
	})
	return p
}

func TestCell(t *testing.T) {
	h := sdktest.Start(t, sums(), nil)
	for _, tc := range []struct{ name, code, want string }{
		{"verb", `return await Sums.add(40, 2)`, `42`},
		{"tool", `return await tools.sums_add({a: 1, b: 2})`, `3`},
		{"data", `return Sums.who`, `"test"`},
		{"error", `try { await Sums.add(-1, 2) } catch (e) { return [e.code, e.message, e.toolId] }`, `["negative","-1 is negative","quoin:sums:sums_add"]`},
		{"bad input", `try { await Sums.add("x", 2) } catch (e) { return e.code }`, `"invalid_input"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if r := h.Cell(tc.code); r.Status != host.StatusCompleted || string(r.Value) != tc.want {
				t.Errorf("got %s %s %s, want completed %s", r.Status, r.Value, r.Error, tc.want)
			}
		})
	}
	if r := h.TypeScript(`const n: number = await Sums.add(1, 1); return n`); string(r.Value) != `2` {
		t.Errorf("got %s %s, want 2", r.Status, r.Error)
	}
	r := h.Cell(`await yield_control(); return await Sums.add(20, 22)`)
	if r.Status != host.StatusWaiting {
		t.Fatalf("got %s %s, want waiting", r.Status, r.Error)
	}
	if r = h.Host().Wait(t.Context(), h.Session(), r.RunID); string(r.Value) != `42` {
		t.Errorf("got %s %s, want 42", r.Status, r.Error)
	}
}
