package server

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/modeltools"
)

const tasksExtension = "io.modelcontextprotocol/tasks"

// addTaskTools adds what the scenarios of tasks want besides tools that take their time:
// a tool that asks before it becomes a task, and one that is nothing but a task.
func (f *fixture) addTaskTools(s *mcp.Server) {
	const composed = "test_tool_with_task"
	f.addAsking(s, composed, "Asks, and is a task then.", noArguments, func(*mcp.CallToolRequest, string) (*mcp.CallToolResult, mcp.InputRequestMap, string) {
		return nil, mcp.InputRequestMap{"user_name": nameForm()}, "name"
	})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			call, ok := req.(*mcp.CallToolRequest)
			if !ok {
				return next(ctx, method, req)
			}
			if call.Params.Name == "failing_job" && !takesTasks(call) {
				return nil, errNoTasks()
			}
			name, _ := accepted(call.Params.InputResponses, "user_name")["name"].(string)
			if call.Params.Name != composed || name == "" {
				return next(ctx, method, req)
			}
			code, err := json.Marshal(map[string]string{"code": fmt.Sprintf("await yield_control(); return %q", name)})
			if err != nil {
				return nil, err
			}
			return next(ctx, method, &mcp.CallToolRequest{Session: call.Session, Extra: call.Extra, Params: &mcp.CallToolParamsRaw{
				Meta: call.Params.Meta, Name: modeltools.Exec, Arguments: code,
			}})
		}
	})
}

func takesTasks(call *mcp.CallToolRequest) bool {
	c := call.ClientCapabilities()
	return c != nil && c.Extensions[tasksExtension] != nil
}

func errNoTasks() error {
	data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
		RequiredCapabilities: &mcp.ClientCapabilities{Extensions: map[string]any{tasksExtension: map[string]any{}}},
	})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the tool is for clients that take tasks", Data: data}
}
