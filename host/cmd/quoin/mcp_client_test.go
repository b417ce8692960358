package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	osexec "os/exec"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer sends the token of the variable MCP_TOKEN, if there is one.
type bearer struct{}

// RoundTrip implements http.RoundTripper.
func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if token := os.Getenv("MCP_TOKEN"); token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// mcpClient is a command of the scripts, an MCP client:
//
//	mcp-client REVISION [list | answer DECISION | TOOL ARGUMENTS]... -- URL | COMMAND...
//
// It prints one line for each request: the tools, or the result of a call. In
// ARGUMENTS, RUN stands for the runId of the last waiting result, also of an earlier
// client: the file run has it. A call that asks for a decision is kept in the file asked,
// with the state that the server wants back; answer sends it again with the decision.
func mcpClient() {
	if err := runMCPClient(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mcp-client:", err)
		os.Exit(1)
	}
}

func runMCPClient(ctx context.Context, args []string, out io.Writer) error {
	i := slices.Index(args, "--")
	if i < 1 || i == len(args)-1 {
		return fmt.Errorf("usage: mcp-client REVISION [list | TOOL ARGUMENTS]... -- URL | COMMAND...")
	}
	requests, target := args[1:i], args[i+1:]
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: target[0], HTTPClient: &http.Client{Transport: bearer{}}}
	if !strings.HasPrefix(target[0], "http://") {
		command := osexec.Command(target[0], target[1:]...)
		command.Stderr = os.Stderr
		transport = &mcp.CommandTransport{Command: command}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "script", Version: "1"}, &mcp.ClientOptions{
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		Capabilities:   &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
	}).Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: args[0]})
	if err != nil {
		return err
	}
	defer session.Close()
	last, err := os.ReadFile("run")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	run := string(last)
	for len(requests) > 0 {
		if requests[0] == "list" {
			list, err := session.ListTools(ctx, nil)
			if err != nil {
				return err
			}
			for _, t := range list.Tools {
				fmt.Fprintf(out, "tool %s: %s\n", t.Name, t.Title)
			}
			requests = requests[1:]
			continue
		}
		p := &mcp.CallToolParams{Name: requests[0]}
		if p.Name == "answer" {
			if p, err = keptCall(requests[1]); err != nil {
				return err
			}
		} else if len(requests) > 1 {
			p.Arguments = json.RawMessage(strings.ReplaceAll(requests[1], "RUN", run))
		}
		res, err := session.CallTool(ctx, p)
		if err != nil {
			return err
		}
		if res.NeedsInput() {
			if err := keepCall(out, p, res); err != nil {
				return err
			}
		}
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(res.StructuredContent); err != nil {
			return err
		}
		fmt.Fprintf(out, "isError %t %s", res.IsError, line.String())
		var waiting struct{ RunID string }
		if err := json.Unmarshal(line.Bytes(), &waiting); err == nil && waiting.RunID != "" {
			run = waiting.RunID
			if err := os.WriteFile("run", []byte(run), 0o600); err != nil {
				return err
			}
		}
		requests = requests[min(2, len(requests)):]
	}
	return session.Close()
}

// keepCall writes a call that needs input to the file asked, and what is asked to out.
func keepCall(out io.Writer, p *mcp.CallToolParams, res *mcp.CallToolResult) error {
	kept := *p
	kept.RequestState, kept.InputResponses = res.RequestState, mcp.InputResponseMap{}
	for key, asked := range res.InputRequests {
		fmt.Fprintf(out, "asked %s\n", asked.(*mcp.ElicitParams).Message)
		kept.InputResponses[key] = &mcp.ElicitResult{Action: "accept"}
	}
	b, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return os.WriteFile("asked", b, 0o600)
}

// keptCall reads the call of the file asked and answers all that it asks.
func keptCall(decision string) (*mcp.CallToolParams, error) {
	b, err := os.ReadFile("asked")
	if err != nil {
		return nil, err
	}
	p := new(mcp.CallToolParams)
	if err := json.Unmarshal(b, p); err != nil {
		return nil, err
	}
	for _, answer := range p.InputResponses {
		answer.(*mcp.ElicitResult).Content = map[string]any{"decision": decision}
	}
	return p, nil
}
