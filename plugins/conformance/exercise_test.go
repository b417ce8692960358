//go:build linux

package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/sdk"
)

type in struct {
	N int `json:"n,omitempty"`
}

type out struct {
	N int `json:"n"`
}

// testPlugin returns a plugin without faults, or one with the faults that are the point.
func testPlugin(id string) *sdk.Plugin {
	p := sdk.New(sdk.Info{ID: id, Version: "1.0.0"}, nil)
	tool := sdk.Tool{Name: "double", Description: "Doubles n.", ReadOnly: true, Examples: []sdk.Example{{Input: in{N: 2}}}}
	addMemory(p, id == "good")
	if id == "good" {
		double := sdk.AddTool(p, tool, func(_ context.Context, _ *sdk.Call, v in) (out, error) { return out{2 * v.N}, nil })
		p.AddNamespace(sdk.Namespace{ID: id, Global: "Good", Description: "Good.", Scope: sdk.Scope{"double": sdk.Verb(double).Positional("n")}})
		p.BeforeToolCall(func(context.Context, *sdk.ToolCall) (sdk.Verdict, error) { return sdk.Verdict{}, nil })
		p.AfterToolCall(func(context.Context, *sdk.ToolCall, sdk.CallOutcome) (any, error) {
			return nil, sdk.Errorf("busy", "later")
		})
		return p
	}
	double := p.AddRawTool(tool, sdk.RawSchemas{
		Input:  json.RawMessage(`{"type":"object"}`),
		Output: json.RawMessage(`{"type":"object"}`),
	}, func(context.Context, *sdk.Call, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`"two"`), nil
	})
	p.BeforeToolCall(func(context.Context, *sdk.ToolCall) (sdk.Verdict, error) {
		return sdk.Verdict{Params: 5, Reason: "because", Approval: &sdk.Approval{Severity: "dire"}}, nil
	})
	p.AfterToolCall(func(context.Context, *sdk.ToolCall, sdk.CallOutcome) (any, error) { panic("after") })
	var scopes atomic.Int64
	p.AddNamespace(sdk.Namespace{ID: id, Global: "Bad", Description: "Bad.", Tools: []*sdk.ToolRef{double},
		CreateScope: func(context.Context, sdk.RunContext) (sdk.Scope, error) {
			return sdk.Scope{"verb" + strconv.FormatInt(scopes.Add(1), 10): sdk.Verb(double)}, nil
		}})
	return p
}

// addMemory adds tools that keep the last number of a session: by its identity, or by two of the fields that it has.
func addMemory(p *sdk.Plugin, whole bool) {
	var kept sync.Map
	of := func(r sdk.RunContext) string {
		if whole {
			return r.Identity()
		}
		return r.AgentID + " " + r.SessionID
	}
	sdk.AddTool(p, sdk.Tool{Name: "keep", Description: "Keeps n."}, func(_ context.Context, c *sdk.Call, v in) (out, error) {
		kept.Store(of(c.Run), v.N)
		return out(v), nil
	})
	sdk.AddTool(p, sdk.Tool{Name: "kept", Description: "Returns what was kept.", ReadOnly: true}, func(_ context.Context, c *sdk.Call, _ struct{}) (out, error) {
		n, _ := kept.Load(of(c.Run))
		number, _ := n.(int)
		return out{number}, nil
	})
}

func installOwn(t *testing.T, id string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), id)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	manifest := fmt.Sprintf(`{"id": %q, "version": "1.0.0", "protocol": 2, "command": "./plugin"}`, id)
	if err := os.WriteFile(filepath.Join(dir, "plugin.json"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	declaration := `{"private": [{"tool": "keep", "input": {"n": 7}, "shows": {"tool": "kept", "input": {}}}]}`
	if err := os.WriteFile(filepath.Join(dir, DeclarationName), []byte(declaration), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "plugin")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAGoodPluginPasses(t *testing.T) { Exercise(t, installOwn(t, "good"), nil) }

func TestABadPluginIsFoundOut(t *testing.T) {
	report, err := Check(t.Context(), installOwn(t, "bad"), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(report.Problems(), "\n")
	for _, want := range []string{
		"the result of example 1 of double does not fit the output schema",
		"namespace bad makes different scopes for one run",
		"rewrote an input into 5",
		"gave a reason to block, but did not block",
		"asks for an approval that no host understands",
		"the hook after tool calls broke",
		"a session with another session key sees what keep has done for another",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("not reported: %s\nreported:\n%s", want, all)
		}
	}
}

func TestAMissingPluginIsAnError(t *testing.T) {
	if _, err := Check(t.Context(), t.TempDir(), nil); err == nil {
		t.Error("an empty folder was examined")
	}
}
