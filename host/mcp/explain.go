package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// explain says why a call that was made has no answer.
func (c *call) explain(ctx context.Context, answer *capture, err error) *Error {
	e := &Error{Code: CodeClosed, Server: c.name, Unknown: true, Err: err}
	var rpc *jsonrpc.Error
	var refused, own *Error
	switch {
	case errors.As(answer.refusal(), &refused) && (refused.Code == CodeStatus || refused.Code == CodeClosed):
		own := *refused
		own.Server, own.Message = c.name, fmt.Sprintf("MCP server %s refused %q: %s", c.name, c.Tool, refused.Message)
		return &own
	case errors.As(answer.refusal(), &refused):
		e.Code, e.Message = refused.Code, fmt.Sprintf("MCP server %s sent a reply to %q that was not accepted: %s", c.name, c.Tool, refused.Message)
	case errors.Is(context.Cause(ctx), errCallTimeout):
		e.Code, e.Message = CodeTimeout, fmt.Sprintf("MCP server %s did not answer %q within %v.", c.name, c.Tool, c.server.CallTimeout)
	case errors.Is(context.Cause(ctx), errEnded):
		e.Message = fmt.Sprintf("The connection to MCP server %s ended while %q was running.", c.name, c.Tool)
	case ctx.Err() != nil:
		e.Code, e.Message = CodeCancelled, fmt.Sprintf("The call of %q of MCP server %s was cancelled.", c.Tool, c.name)
	case errors.As(err, &own):
		own.Server = c.name
		return own
	case errors.As(err, &rpc) && rpc.Code != codeTransport:
		e.Code, e.Unknown, e.Details = CodeRefused, false, refusalDetails(rpc)
		e.Message = fmt.Sprintf("MCP server %s refused %q: %s (code %d)", c.name, c.Tool, bounded(rpc.Message, maxErrorText), rpc.Code)
	default:
		e.Message = fmt.Sprintf("MCP server %s did not answer %q: %s", c.name, c.Tool, bounded(err.Error(), maxErrorText))
	}
	return e
}

// maxRefusalData is how much a server may say with an error, in bytes.
const maxRefusalData = 8 << 10

// refusalDetails has what a server says with an error of the protocol.
func refusalDetails(rpc *jsonrpc.Error) json.RawMessage {
	if len(rpc.Data) == 0 || string(rpc.Data) == "null" || len(rpc.Data) > maxRefusalData || inspect(rpc.Data) != nil {
		return nil
	}
	details, err := json.Marshal(map[string]any{"code": rpc.Code, "data": rpc.Data})
	if err != nil {
		return nil // data that is no JSON
	}
	return details
}

// unacceptable refuses an answer.
func (c *call) unacceptable(tool *Tool, code Code, text string) error {
	return &Error{Code: code, Server: c.name, Unknown: !tool.ReadOnly,
		Message: fmt.Sprintf("MCP server %s sent a reply to %q that was not accepted: %s", c.name, tool.Name, text)}
}

// admit waits until a request may be made, for as long as a call may take. Call release
// once the request has ended.
func (c *call) admit(ctx context.Context) (release func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, c.server.CallTimeout)
	defer cancel()
	fail := func(limit string) error {
		if ctx.Err() != nil {
			return c.explain(ctx, &capture{}, ctx.Err()).known()
		}
		return &Error{Code: CodeBusy, Server: c.name, Message: fmt.Sprintf("The call of %q of MCP server %s was not made within %v, because %s holds it back.", c.Tool, c.name, c.server.CallTimeout, limit)}
	}
	if c.limits.rate != nil && c.limits.rate.Wait(waiting) != nil {
		return nil, fail("ratePerSecond")
	}
	if c.limits.slots == nil {
		return func() {}, nil
	}
	select {
	case c.limits.slots <- struct{}{}:
		return func() { <-c.limits.slots }, nil
	case <-waiting.Done():
		return nil, fail("maxConcurrent")
	}
}
