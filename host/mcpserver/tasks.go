package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
)

// tasksExtension is the name of the extension of MCP by which a call that does not
// finish in time becomes a task.
const tasksExtension = "io.modelcontextprotocol/tasks"

// taskMethods are the methods of the extension.
var taskMethods = map[string]bool{"tasks/get": true, "tasks/update": true, "tasks/cancel": true}

// taskParams are the parameters of all of them.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

// taskResult is a task as clients get it: with resultType task in place of the result
// of a call, and with complete as the result of tasks/get.
type taskResult struct {
	mcp.ResultBase
	ResultType     string              `json:"resultType"`
	TaskID         string              `json:"taskId"`
	Status         taskStatus          `json:"status"`
	StatusMessage  string              `json:"statusMessage,omitempty"`
	CreatedAt      time.Time           `json:"createdAt"`
	LastUpdatedAt  time.Time           `json:"lastUpdatedAt"`
	TTLMs          int64               `json:"ttlMs"`
	PollIntervalMs int64               `json:"pollIntervalMs"`
	Result         json.RawMessage     `json:"result,omitempty"`
	Error          *taskError          `json:"error,omitempty"`
	InputRequests  mcp.InputRequestMap `json:"inputRequests,omitempty"`
}

// acknowledged is the result of tasks/update and tasks/cancel.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// addTasks adds the methods of the extension, and has calls become tasks.
func (s *Server) addTasks() error {
	s.server.AddReceivingMiddleware(s.taskMiddleware)
	return errors.Join(
		mcp.AddReceivingCustomMethod(s.server, "tasks/get", s.getTask),
		mcp.AddReceivingCustomMethod(s.server, "tasks/update", s.updateTask),
		mcp.AddReceivingCustomMethod(s.server, "tasks/cancel", s.cancelTask),
	)
}

// taskMiddleware answers calls of clients that take tasks, and checks what holds for all
// methods of tasks. It stands around the handlers of tools: their results cannot be tasks.
func (s *Server) taskMiddleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok && takesTasks(call.ClientCapabilities()) && becomesTask(call) {
			return s.callTask(ctx, next, method, call)
		}
		if !taskMethods[method] {
			return next(ctx, method, req)
		}
		r, ok := req.(*mcp.ServerRequest[*taskParams])
		switch {
		case !ok || r.Params == nil || r.Params.TaskID == "":
			return nil, invalidParams(errors.New("taskId is missing"))
		case !takesTasks(r.ClientCapabilities()):
			return nil, errNoTasks()
		case r.Extra != nil && r.Extra.Header != nil && r.Extra.Header.Get("Mcp-Name") != r.Params.TaskID:
			return nil, &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "the header Mcp-Name is not the taskId of the body"}
		}
		return next(withCaller(ctx, callerOf(ctx, req.GetExtra())), method, req)
	}
}

// takesTasks reports whether a client has said in its request that it takes tasks.
func takesTasks(c *mcp.ClientCapabilities) bool {
	if c == nil {
		return false
	}
	_, ok := c.Extensions[tasksExtension]
	return ok
}

// becomesTask reports whether a call may become a task: one of a client of the
// stateless era, that starts a run.
func becomesTask(call *mcp.CallToolRequest) bool {
	return call.Params.Name != modeltools.Wait && call.Params.RequestState == "" && call.ProtocolVersion() >= firstStateless
}

// errNoTasks is the error of a client that uses tasks and has not said that it can.
func errNoTasks() error {
	data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
		RequiredCapabilities: &mcp.ClientCapabilities{Extensions: map[string]any{tasksExtension: map[string]any{}}},
	})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the request does not declare the extension " + tasksExtension, Data: data}
}

// callTask answers a call that may become a task. The result of the handler is then left
// aside.
func (s *Server) callTask(ctx context.Context, next mcp.MethodHandler, method string, call *mcp.CallToolRequest) (mcp.Result, error) {
	slot := &taskSlot{}
	res, err := next(context.WithValue(ctx, slotKey{}, slot), method, call)
	if err != nil || slot.task == nil {
		return res, err
	}
	return s.result(slot.task, "task"), nil
}

// result is the task for a client, as the result of a call or of tasks/get.
func (s *Server) result(t *task, resultType string) *taskResult {
	return &taskResult{
		ResultType: resultType, TaskID: t.RunID, Status: t.Status, StatusMessage: t.Message,
		CreatedAt: t.Created, LastUpdatedAt: t.Updated,
		TTLMs: taskLifetime.Milliseconds(), PollIntervalMs: s.times.taskPoll.Milliseconds(),
		Result: t.Result, Error: t.Error,
	}
}

// taskOf returns the task that a caller names. One of another session is as unknown as
// one that there is not.
func (s *Server) taskOf(ctx context.Context, caller host.Session, id string) (*task, error) {
	t, err := s.tasks.get(ctx, id)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && t.Caller != identity(caller):
		return nil, invalidParams(errors.New("there is no such task of this session"))
	case err != nil:
		return nil, s.storeFailed(id, err)
	}
	return t, nil
}

// asks returns a call: the task asks in its name and is answered.
func (s *Server) asks(ctx context.Context, ss *mcp.ServerSession, p *taskParams) *toolCall {
	req := &mcp.CallToolRequest{Session: ss, Params: &mcp.CallToolParamsRaw{Meta: p.Meta}}
	return &toolCall{server: s, req: req, caller: callerOf(ctx, nil), can: s.elicitationOf(req.ClientCapabilities()), stateless: true}
}

// getTask says how a task stands. It continues a run that no process drives.
func (s *Server) getTask(ctx context.Context, ss *mcp.ServerSession, p *taskParams) (*taskResult, error) {
	c := s.asks(ctx, ss, p)
	t, err := s.taskOf(ctx, c.caller, p.TaskID)
	if err != nil || t.Status.ended() {
		return s.detailed(t), err
	}
	waiting, err := c.approvals(ctx, t.RunID, false)
	if err != nil {
		return nil, err
	}
	if len(waiting) == 0 {
		news := s.drivers.drive(c.caller, t.RunID)
		timer := time.NewTimer(s.times.taskHold)
		defer timer.Stop()
		select {
		case <-news:
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if t, err = s.taskOf(ctx, c.caller, p.TaskID); err != nil || t.Status.ended() {
			return s.detailed(t), err
		}
		if waiting, err = c.approvals(ctx, t.RunID, false); err != nil {
			return nil, err
		}
	}
	out := s.detailed(t)
	requests, _ := c.requests(waiting)
	maps.DeleteFunc(requests, func(key string, _ mcp.InputRequest) bool { return t.Answers[key] != nil })
	if len(requests) > 0 {
		out.Status, out.InputRequests = taskInputRequired, requests
	} else if people := whatPeopleDo(waiting); len(people) > 0 {
		out.StatusMessage = people[0]
	}
	return out, nil
}

// detailed is a task as the result of tasks/get, or nil.
func (s *Server) detailed(t *task) *taskResult {
	if t == nil {
		return nil
	}
	return s.result(t, "complete")
}

// updateTask takes answers to what a task asks. Answers to an approval with several questions
// are kept until all are there. Answers to anything else are ignored.
func (s *Server) updateTask(ctx context.Context, ss *mcp.ServerSession, p *taskParams) (*acknowledged, error) {
	c := s.asks(ctx, ss, p)
	t, err := s.taskOf(ctx, c.caller, p.TaskID)
	if err != nil {
		return nil, err
	}
	waiting, err := c.approvals(ctx, t.RunID, false)
	if err != nil {
		return nil, err
	}
	for _, a := range waiting {
		if err := s.answer(ctx, c, t.RunID, a, p.InputResponses); err != nil {
			return nil, err
		}
	}
	if !t.Status.ended() {
		s.drivers.drive(c.caller, t.RunID)
	}
	return &acknowledged{ResultType: "complete"}, nil
}

// answer enters what the responses say about one approval, if they are all there. Its
// errors are for the client.
func (s *Server) answer(ctx context.Context, c *toolCall, runID string, a *policy.Approval, responses map[string]json.RawMessage) error {
	keys := inputRequests(a, c.can)
	given := mcp.InputResponseMap{}
	var wrong error
	err := s.tasks.change(ctx, runID, func(t *task) error {
		for key := range keys {
			if raw, ok := responses[key]; ok && t.Answers[key] == nil {
				var r mcp.ElicitResult
				if err := json.Unmarshal(raw, &r); err != nil {
					wrong = fmt.Errorf("the response %s is no answer to a form or link: %w", key, err)
					return wrong
				}
				t.keepAnswer(key, &r)
			}
			if r := t.Answers[key]; r != nil {
				given[key] = r
			}
		}
		return nil
	})
	switch {
	case wrong != nil:
		return invalidParams(wrong)
	case err != nil:
		return s.storeFailed(runID, err)
	case len(keys) == 0 || len(given) < len(keys):
		return nil
	}
	out, wrong := c.enter(ctx, a, given)
	if wrong == nil && out == answered {
		return nil
	}
	// The person is to be asked again.
	if err := s.tasks.change(ctx, runID, func(t *task) error {
		for key := range keys {
			delete(t.Answers, key)
		}
		return nil
	}); err != nil {
		return s.storeFailed(runID, err)
	}
	if wrong != nil {
		return invalidParams(wrong)
	}
	return nil
}

// cancelTask ends the run of a task. A task that has ended stays what it is.
func (s *Server) cancelTask(ctx context.Context, ss *mcp.ServerSession, p *taskParams) (*acknowledged, error) {
	c := s.asks(ctx, ss, p)
	t, err := s.taskOf(ctx, c.caller, p.TaskID)
	if err != nil {
		return nil, err
	}
	if !t.Status.ended() {
		if err := s.tasks.change(ctx, t.RunID, (*task).cancel); err != nil {
			return nil, s.storeFailed(t.RunID, err)
		}
		s.host.Abort(context.WithoutCancel(ctx), c.caller, t.RunID)
	}
	return &acknowledged{ResultType: "complete"}, nil
}
