package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/policy"
)

// toolCall is one call of a tool of this server.
type toolCall struct {
	server *Server
	req    *mcp.CallToolRequest
	caller host.Session
	can    elicitation
	// stateless says that the client is asked by a result, and not by a request.
	stateless bool
	// patient says that the call is over only when the program is, or waits for people.
	patient bool
	direct  bool          // a call of a direct tool
	resumes bool          // a call of wait
	wait    time.Duration // how long it may take; 0: as long as the settings allow
	runID   string        // the run that the call is about, if that is known before
	round   int           // how often the caller was asked
	steps   float64       // of progress
	wrong   string        // why the last answer did not fit; the client is asked again
	result  func(*host.Result, []*policy.Approval) (*mcp.CallToolResult, error)
}

// outcome is what came of asking a caller about an approval.
type outcome int

const (
	answered   outcome = iota
	unanswered         // the client sent no answer: it is asked again
	putOff             // the person made no choice
	signingIn          // the person has opened the link; it is over when the token is there
)

// ownSession helps a client after its server process was started again.
const ownSession = " The run is kept. To go on with it, start quoin mcp serve with the session of the run, as in the configuration of the client: --session NAME. " +
	"A person finds the name with quoin runs list."

// newCall is a call of exec or wait.
func (s *Server) newCall(ctx context.Context, req *mcp.CallToolRequest) *toolCall {
	return &toolCall{
		server: s, req: req, caller: callerOf(ctx, req.Extra),
		can: s.elicitationOf(req.ClientCapabilities()), stateless: req.ProtocolVersion() >= firstStateless,
		result: programResult, wait: s.waitOf(ctx),
	}
}

// waitOf is how long a call may take before it says that its program is waiting. One that
// may become a task becomes one soon.
func (s *Server) waitOf(ctx context.Context) time.Duration {
	if slotOf(ctx) != nil {
		return min(s.times.taskAfter, s.options.Wait)
	}
	return s.options.Wait
}

// goesOn continues a run. When the client of a wait goes away, the run stays as it is.
func (c *toolCall) goesOn(ctx context.Context, runID string) *host.Result {
	if !c.resumes { // its client knows of no run
		return c.server.host.WaitFor(ctx, c.caller, runID, c.wait)
	}
	d := c.server.host.Deliver(ctx, c.caller, runID, c.wait)
	if ctx.Err() != nil {
		d.Release()
	} else {
		d.Done()
	}
	return d.Result
}

// arguments are what a call is made with; a client may leave them out.
func arguments(req *mcp.CallToolRequest) []byte {
	if len(req.Params.Arguments) == 0 {
		return json.RawMessage("{}")
	}
	return req.Params.Arguments
}

// slotKey is the context key of the place for the task that a call becomes.
type slotKey struct{}

// taskSlot is where a call leaves the task that it has become.
type taskSlot struct{ task *task }

// slotOf returns the place for a task, or nil if the call must not become one.
func slotOf(ctx context.Context) *taskSlot {
	slot, _ := ctx.Value(slotKey{}).(*taskSlot)
	return slot
}

// approvals are those that a run waits for, and with resolved also those that it no longer does.
func (c *toolCall) approvals(ctx context.Context, runID string, resolved bool) ([]*policy.Approval, error) {
	list, err := c.server.host.Approvals().List(ctx, policy.Filter{Session: &c.caller, RunID: runID, Resolved: resolved})
	if err != nil {
		return nil, c.server.storeFailed(runID, err)
	}
	return list, nil
}

// requests are those approvals that the client can ask about, and their ids.
func (c *toolCall) requests(waiting []*policy.Approval) (mcp.InputRequestMap, []string) {
	requests, ids := mcp.InputRequestMap{}, []string{}
	for _, a := range waiting {
		asked := inputRequests(a, c.can)
		for key, params := range asked {
			if c.wrong != "" {
				params.Message = "The last answer was not taken: " + c.wrong + "\n\n" + params.Message
			}
			requests[key] = params
		}
		if len(asked) > 0 {
			ids = append(ids, a.ID)
		}
	}
	return requests, ids
}

// storeFailed is what a client is told of an error of a store, which may name hosts, users
// and paths.
func (s *Server) storeFailed(runID string, err error) error {
	s.options.Logger.Warn("the state of a run could not be read or stored", "run", runID, "error", err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("the state of the run %s cannot be read or stored now: ask again later. The log of the server says why.", runID)}
}

// invalidParams is the error of a call that cannot be taken as it is, unless err has a code
// of its own.
func invalidParams(err error) error {
	var coded *jsonrpc.Error
	if errors.As(err, &coded) {
		return coded
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
}
