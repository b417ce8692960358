// Package outcome has what the adapters share: running a program to its end where the
// other side knows no run that waits, and reading what MCP tools have returned.
package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
)

// Finish runs a program with tools of its own to its end. A program that needs a person is
// aborted: callers that can ask one use host.Host.Exec and Wait themselves.
func Finish(ctx context.Context, h *host.Host, s host.Session, tools []catalog.Tool, code string) (*host.Result, error) {
	r := h.Exec(host.WithAskingCaller(ctx), s, host.ExecInput{Code: code, Tools: tools})
	for r.Status == host.StatusWaiting {
		if len(r.PendingApprovals) > 0 {
			h.Abort(ctx, s, r.RunID)
			return nil, fmt.Errorf("the program was ended, because a person has to answer first: %s", r.PendingApprovals[0].Title)
		}
		r = h.Wait(host.WithAskingCaller(ctx), s, r.RunID)
	}
	return r, r.Err()
}

// Console is the text that a program has printed, an item for each print.
func Console(r *host.Result) []string {
	var lines []string
	for _, o := range r.Output {
		if o.Kind == codemode.OutputText {
			lines = append(lines, o.Text())
		} else {
			lines = append(lines, string(o.Value))
		}
	}
	return lines
}

// Value is what a program gets of a tool's result: the structured content, else the JSON
// in its text, else the text. A result that is an error becomes one.
func Value(r *mcp.CallToolResult) (json.RawMessage, error) {
	var texts []string
	for _, c := range r.Content {
		text, ok := c.(mcp.TextContent)
		if !ok {
			return json.Marshal(r.Content) // images and the like: all of it as it is
		}
		texts = append(texts, text.Text)
	}
	text := strings.Join(texts, "\n")
	switch {
	case r.IsError:
		return nil, errors.New(text)
	case r.StructuredContent != nil:
		return json.Marshal(r.StructuredContent)
	}
	return TextValue(text)
}

// TextValue is a text as a value: the JSON that it is, else a string.
func TextValue(text string) (json.RawMessage, error) {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	return json.Marshal(text)
}
