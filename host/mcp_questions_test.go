package host_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
)

// askersNotes is the variable that names the file in which an asking server notes its work.
const askersNotes = "QUOIN_TEST_MCP_NOTES"

// askingUpstream returns an MCP server with a tool that asks for a size before it does its
// work: by its answer, or in the middle of the call if the server's label is asker-of-before.
func askingUpstream(label string) *sdk.Server {
	options := &sdk.ServerOptions{}
	if label == "asker-of-before" {
		options.SupportedProtocolVersions = []string{"2025-11-25"}
	}
	s := sdk.NewServer(&sdk.Implementation{Name: label, Version: "1"}, options)
	question := &sdk.ElicitParams{Message: "Which size?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"size":{"type":"string"}},"required":["size"]}`)}
	done := func(a *sdk.ElicitResult) (*sdk.CallToolResult, error) {
		f, err := os.OpenFile(os.Getenv(askersNotes), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString("ordered\n")
		}
		if err != nil {
			return nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: map[string]any{"action": a.Action, "size": a.Content["size"]}}, f.Close()
	}
	s.AddTool(&sdk.Tool{Name: "order", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if options.SupportedProtocolVersions != nil {
			answer, err := r.Session.Elicit(ctx, question)
			if err != nil {
				return nil, err
			}
			return done(answer)
		}
		if answer, ok := r.Params.InputResponses["size"].(*sdk.ElicitResult); ok && r.Params.RequestState == "sealed" {
			return done(answer)
		}
		return &sdk.CallToolResult{RequestState: "sealed", InputRequests: sdk.InputRequestMap{"size": question}}, nil
	})
	return s
}

// TestAServerThatAsksSuspendsTheRun: the run waits whole, a person answers, the program sees
// one call, and the server has done its work once. A server that asks by its answer may be
// answered in the next process.
func TestAServerThatAsksSuspendsTheRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		label   string
		restart bool
	}{{"asker", false}, {"asker", true}, {"asker-of-before", false}} {
		name := c.label
		if c.restart {
			name += " with a restart"
		}
		t.Run(name, func(t *testing.T) {
			dir, notes := t.TempDir(), t.TempDir()+"/notes"
			server := program(t, c.label)
			server.Env[askersNotes] = notes
			desk := newDesk()
			h := withMCP(t, kept(t, dir, desk.config(nil)), server)
			r := h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: `
				let order = MCP[Object.keys(MCP)[0]].order;
				try { return (await order({})).structuredContent } catch (e) { return [e.message, e.code] }`})
			id := wantWaiting(t, r, codemode.ReasonApproval)
			a := <-desk.asked
			if len(a.Questions) != 1 || a.Questions[0].Kind != codemode.QuestionForm || a.Questions[0].From != c.label || a.Questions[0].Message != "Which size?" {
				t.Fatalf("asked %+v", a.Questions)
			}
			if text, err := json.Marshal(r); err != nil || strings.Contains(string(text), "Which size") {
				t.Errorf("the model reads the question in %s, %v", text, err)
			}
			if c.restart {
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
				h = withMCP(t, kept(t, dir, desk.config(nil)), server)
			}
			reply(t, h, a.ID, replies{a.Questions[0].ID: accepted(`{"size":"M"}`)})
			wantValue(t, h.Wait(t.Context(), me, id), `{"action":"accept","size":"M"}`)
			if text, err := os.ReadFile(notes); err != nil || string(text) != "ordered\n" {
				t.Errorf("the server has done %q, %v", text, err)
			}
		})
	}
}
