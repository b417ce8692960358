//lint:file-ignore SA1019 The suite asks for what the specification has deprecated.

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A handler answers the call of a tool.
type handler func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error)

// addTool adds a tool without arguments.
func addTool(s *mcp.Server, name, description string, call handler) {
	addToolOf(s, name, description, `{"type":"object"}`, call)
}

// addToolOf adds a tool with a schema of its arguments.
func addToolOf(s *mcp.Server, name, description, schema string, call handler) {
	s.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)}, mcp.ToolHandler(call))
}

// content is a result of those contents.
func content(parts ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: parts} }

func text(format string, args ...any) *mcp.CallToolResult {
	return content(&mcp.TextContent{Text: fmt.Sprintf(format, args...)})
}

// fixed always answers the same.
func fixed(res *mcp.CallToolResult) handler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return res, nil }
}

// addContents adds the tools that answer without a question.
func addContents(s *mcp.Server) {
	addTool(s, "test_tool_with_logging", "Logs three messages.", logging("started", "working", "done"))
	addTool(s, "test_logging_tool", "Logs one message.", logging("called"))
	addTool(s, "test_tool_with_progress", "Reports its progress thrice.", progressing)
	addTool(s, "test_missing_capability", "Is for clients that can sample.", sampler)
	addTool(s, "test_streaming_elicitation", "Answers on a stream without requests.", fixed(text("done")))
	addTool(s, "test_trigger_tool_change", "Changes the list of tools.", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		addTool(s, "test_transient", "Comes and goes.", fixed(text("transient")))
		return text("the list of tools has changed"), nil
	})
	addTool(s, "test_trigger_prompt_change", "Changes the list of prompts.", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddPrompt(&mcp.Prompt{Name: "test_transient", Description: "Comes and goes."}, says("transient"))
		return text("the list of prompts has changed"), nil
	})
	addToolOf(s, "test_x_mcp_header", "Has an argument that a header repeats.", `{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`, fixed(text("done")))
}

// logging logs the messages that the client wants.
func logging(messages ...string) handler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var all []error
		for _, m := range messages {
			all = append(all, req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: m}))
		}
		return text("logged"), errors.Join(all...)
	}
}

// progressing reports progress, and answers with the token it was asked with.
func progressing(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	token := req.Params.GetProgressToken()
	for _, done := range []float64{0, 50, 100} {
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100}); err != nil {
			return nil, err
		}
	}
	return text("%v", token), nil
}

// sampler refuses clients that have not said that they can sample.
func sampler(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if c := req.ClientCapabilities(); c != nil && c.Sampling != nil {
		return text("the client can sample"), nil
	}
	data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}})
	if err != nil {
		return nil, err
	}
	return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client has not said that it can sample", Data: data}
}

// manyKeywords is a schema with keywords that must reach the client as they are.
const manyKeywords = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]}, "else": {"required": ["email"]},
	"additionalProperties": false
}`
