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
//	mcp-client REVISION [list | TOOL ARGUMENTS]... -- URL | COMMAND...
//
// It prints one line for each request: the tools, or the result of a call. In
// ARGUMENTS, RUN stands for the runId of the last waiting result, also of an earlier
// client: the file run has it.
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
	session, err := mcp.NewClient(&mcp.Implementation{Name: "script", Version: "1"}, nil).Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: args[0]})
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
		var arguments json.RawMessage
		if len(requests) > 1 {
			arguments = json.RawMessage(strings.ReplaceAll(requests[1], "RUN", run))
		}
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: requests[0], Arguments: arguments})
		if err != nil {
			return err
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
