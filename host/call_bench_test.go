package host_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcp"
)

// BenchmarkNestedCall measures what a call of a tool of this process costs beyond the
// tool: the time from its answer to the next call of a program that makes one call after
// the other. It has the guest's turn and the host's part in it.
func BenchmarkNestedCall(b *testing.B) {
	const calls = 200
	gaps, answered := []time.Duration(nil), time.Time{}
	tick := func() {
		if !answered.IsZero() {
			gaps = append(gaps, time.Since(answered))
		}
	}
	tock := func() { answered = time.Now() }
	definition := catalog.Tool{Name: "tick", Description: "Ticks.", ReadOnly: true}
	server := sdk.NewServer(&sdk.Implementation{Name: "clock", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "tick", Description: "Ticks."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		tick()
		defer tock()
		return nil, nil, nil
	})
	raw := definition
	raw.Invoke = func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		tick()
		defer tock()
		return json.RawMessage("1"), nil
	}
	for _, bc := range []struct {
		name, call string
		cfg        host.Config
	}{
		{"a tool", "tools.tick({})", host.Config{Tools: []catalog.Tool{raw}}},
		{"a function", "tools.tick({})", host.Config{Tools: []catalog.Tool{catalog.Func(definition, func(context.Context, struct{}) (int, error) {
			tick()
			defer tock()
			return 1, nil
		})}}},
		{"a definition", "tools.tick({})", host.Config{Tools: catalog.FromDefinitions([]catalog.Tool{definition}, func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			tick()
			defer tock()
			return json.RawMessage("1"), nil
		})}},
		{"an MCP server in process", "MCP.clock.tick({})", host.Config{MCP: host.MCPConfig{Servers: []mcp.Server{{Name: "clock", InProcess: server}}}}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			h := start(b, bc.cfg)
			gaps = nil
			for b.Loop() {
				answered = time.Time{} // the first call of a program has none before it
				r := exec(h, fmt.Sprintf(`for (let i = 0; i < %d; i++) await %s`, calls, bc.call))
				if r.Status != host.StatusCompleted {
					b.Fatal(show(r))
				}
			}
			slices.Sort(gaps)
			b.ReportMetric(float64(gaps[len(gaps)/2].Nanoseconds())/1e3, "p50-us/call")
			b.ReportMetric(float64(gaps[len(gaps)*99/100].Nanoseconds())/1e3, "p99-us/call")
		})
	}
}

// BenchmarkToolOfALargeServer measures a program that makes one call of a tool of an MCP
// server: what the others of the server cost it.
func BenchmarkToolOfALargeServer(b *testing.B) {
	for _, tools := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(tools), func(b *testing.B) {
			server := sdk.NewServer(&sdk.Implementation{Name: "large", Version: "1"}, nil)
			for i := range tools {
				sdk.AddTool(server, &sdk.Tool{Name: fmt.Sprintf("things/do-%d", i), Description: "Does it."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
					return nil, nil, nil
				})
			}
			h := start(b, host.Config{MCP: host.MCPConfig{Servers: []mcp.Server{{Name: "large", InProcess: server}}}})
			for b.Loop() {
				if r := exec(h, `await MCP.large.thingsDo7({})`); r.Status != host.StatusCompleted {
					b.Fatal(show(r))
				}
			}
		})
	}
}
