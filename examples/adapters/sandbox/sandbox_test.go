package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/examples/adapters/internal/adaptertest"
	"github.com/quoinhq/quoin/examples/adapters/sandbox"
)

func TestMain(m *testing.M) { adaptertest.Main(m) }

// caller is the gateway's way to call a tool.
type caller struct{}

func (caller) CallTool(ctx context.Context, name string, in map[string]any) (*sandbox.ToolCallResult, error) {
	text := fmt.Sprintf(`{"tool": %q, "sum": %v, "user": %q}`, name, in["a"].(float64)+in["b"].(float64), adaptertest.User(ctx))
	return &sandbox.ToolCallResult{Content: []sandbox.Content{{Type: "text", Text: text}}}, nil
}

func TestExecute(t *testing.T) {
	s := &sandbox.Sandbox{Host: adaptertest.Host(t), Session: adaptertest.Session}
	allowed := []sandbox.Tool{{
		Name: "calc__add", Description: "Adds two numbers.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
	}}
	r, err := s.Execute(adaptertest.As("ada"), `const r = await mcp.callTool("calc", "add", { a: 1, b: 2 }); console.log("sum", r.sum); return r;`, caller{}, allowed)
	if err != nil || r.Value != `{"tool":"calc__add","sum":3,"user":"ada"}` || len(r.Console) != 1 || r.Console[0] != "sum 3" {
		t.Errorf("got %+v, %v", r, err)
	}
	for code, want := range map[string]string{
		`return await mcp.callTool("calc", "add", { a: 1 })`: "b", // the schema is checked
		`return await mcp.callTool("files", "delete", {})`:   "files__delete",
		`throw new Error("mine")`:                            "mine",
	} {
		if _, err := s.Execute(adaptertest.As("ada"), code, caller{}, allowed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", code, err)
		}
	}
}
