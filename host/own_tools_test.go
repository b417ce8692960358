package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/namespaces"
)

// TestNewChecksTools: what a program could not find or call is refused when the host
// is made, not when a model comes upon it.
func TestNewChecksTools(t *testing.T) {
	t.Parallel()
	with := func(change func(*catalog.Tool)) host.Config {
		tool := echo("look")
		change(&tool)
		return host.Config{Tools: []catalog.Tool{tool}}
	}
	weather := func(owner string) host.Config {
		tool := echo("look")
		tool.Owner = owner
		r := namespaces.Registration{ID: "weather", PluginID: "weather", GlobalName: "Weather", Description: "Weather.", RequiredTools: []string{"look"},
			CreateScope: func(context.Context, namespaces.RunContext) (any, error) { return nil, nil }}
		return host.Config{Tools: []catalog.Tool{tool}, Namespaces: []namespaces.Registration{r}}
	}
	for _, tc := range []struct {
		name, want string
		cfg        host.Config
	}{
		{"a wrong type", `tool "look": `, with(func(t *catalog.Tool) { t.Parameters = json.RawMessage(`{"type":"objct"}`) })},
		{"an output that is no schema", `output schema`, with(func(t *catalog.Tool) { t.Output = json.RawMessage(`{"type":5}`) })},
		{"no description", `tool "look" has no description`, with(func(t *catalog.Tool) { t.Description = " " })},
		{"no name", `1 to 256 printable bytes`, with(func(t *catalog.Tool) { t.Name = "" })},
		{"an example that does not fit", `its example 1 does not fit`, with(func(t *catalog.Tool) {
			t.Parameters = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
			t.Examples = []catalog.Example{{Input: json.RawMessage(`{"a":1}`)}}
		})},
		{"a namespace of another owner's tool", `namespace weather of "weather" owns none of the tools that it requires, but there is quoin:elsewhere:look`, weather("elsewhere")},
		{"a namespace of the core's tool", `the Owner of the tools must be the PluginID of the namespace`, weather("")},
	} {
		h, err := newHost(tc.cfg)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
		if err == nil {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestPanicOfAToolSaysWhere: the log names the function that panicked.
func TestPanicOfAToolSaysWhere(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	tool := echo("boom")
	tool.Invoke = func(_ context.Context, in catalog.Invocation) (json.RawMessage, error) {
		return nil, []error{}[len(in.Input)]
	}
	h, err := newHost(host.Config{Tools: []catalog.Tool{tool}, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	wantValue(t, exec(h, `return await tools.boom().catch((e) => e.code)`), `"tool_panic"`)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(log.String()) {
		var r struct{ Msg, At string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Msg == "a panic was recovered from" && strings.Contains(r.At, "TestPanicOfAToolSaysWhere.func1 ") && strings.Contains(r.At, "own_tools_test.go:") {
			return
		}
	}
	t.Errorf("the log does not say where:\n%s", log.String())
}
