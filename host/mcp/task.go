package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/text"
)

// taskState is a task as a server describes it.
type taskState struct {
	TaskID        string          `json:"taskId"`
	Status        string          `json:"status"`
	StatusMessage string          `json:"statusMessage"`
	TTL           *int64          `json:"ttlMs"`
	Poll          *int64          `json:"pollIntervalMs"`
	InputRequests json.RawMessage `json:"inputRequests"`
	Result        json.RawMessage `json:"result"`
	Error         *struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// newTask reads the answer by which a server makes a task of a call.
func (times *times) newTask(raw json.RawMessage) (*task, error) {
	var s taskState
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, errors.New("its fields are not those of one")
	}
	if s.TaskID == "" || len(s.TaskID) > maxTaskID || !text.IsPrintable(s.TaskID) {
		return nil, fmt.Errorf("its id is not 1 to %d printable bytes", maxTaskID)
	}
	t := &task{ID: s.TaskID, Poll: times.defPoll, Until: time.Now().Add(times.maxTaskLife)}
	times.note(t, &s)
	return t, nil
}

// note takes what the server says about the times of a task.
func (times *times) note(t *task, s *taskState) {
	if s.Poll != nil {
		t.Poll = clampTo(milliseconds(*s.Poll), times.minPoll, times.maxPoll)
	}
}

// await waits for the end of a task. It costs a timer and a request now and then; the run has
// no worker while it waits. If ctx ends, the server is told to stop.
//
// A connection that ends does not end the task: the next one asks for it again.
func (c *call) await(ctx context.Context, t *task, answered []string) (json.RawMessage, error) {
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(c.life, func() { end(errEnded) })()
	life, cancel := context.WithDeadlineCause(life, t.Until, errTaskTooLong)
	defer cancel()
	for failed := 0; ; {
		if !pause(life, t.Poll) {
			c.stopTask(ctx, t)
			return nil, c.taskError(life, t)
		}
		s, err := c.taskRequest(life, methodTaskGet, &taskParams{TaskID: t.ID})
		switch {
		case err == nil:
			failed = 0
		case wantsSignIn(err): // another sign-in lets the same task be asked for
			return nil, &taskRefused{resumeState{Kind: resumeTask, Task: t, Answered: answered}, err}
		case life.Err() != nil:
			c.stopTask(ctx, t)
			return nil, c.taskError(life, t)
		case failed == maxFailedPolls || !passing(err):
			return nil, err
		default:
			failed++
			continue
		}
		c.options.times.note(t, s)
		raw, over, err := c.progress(t, s, answered)
		if over || err != nil {
			return raw, err
		}
	}
}

// maxFailedPolls is how often in a row a task may not be found out about.
const maxFailedPolls = 20

// errTaskTooLong ends a task that has no end.
var errTaskTooLong = errors.New("the task took too long")

// passing reports whether a request may be made again after an error.
func passing(err error) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains([]Code{CodeUnavailable, CodeClosed, CodeTimeout, CodeBusy}, e.Code)
}

// progress says whether a task is over, and with what.
func (c *call) progress(t *task, s *taskState, answered []string) (raw json.RawMessage, over bool, err error) {
	fail := func(code Code, text string) (json.RawMessage, bool, error) {
		return nil, true, &Error{Code: code, Server: c.name, Message: fmt.Sprintf("The task of %q of MCP server %s %s", c.Tool, c.name, text), Unknown: true}
	}
	switch s.Status {
	case "working":
		return nil, false, nil
	case "completed":
		if len(s.Result) == 0 || s.Result[0] != '{' || len(s.Result) > c.server.MaxResultBytes {
			return fail(CodeInvalidReply, fmt.Sprintf("has a result that is not an object of at most %d bytes.", c.server.MaxResultBytes))
		}
		return s.Result, true, nil
	case "cancelled":
		return fail(CodeCancelled, "was cancelled by the server.")
	case "failed":
		if s.Error == nil {
			return fail(CodeRefused, "failed: "+bounded(s.StatusMessage, maxErrorText))
		}
		return fail(CodeRefused, fmt.Sprintf("failed: %s (code %d)", bounded(s.Error.Message, maxErrorText), s.Error.Code))
	case "input_required":
		return c.taskAsks(t, s, answered, fail)
	}
	return fail(CodeInvalidReply, fmt.Sprintf("has the status %.80q, which is not known.", s.Status))
}

// taskAsks puts the questions of a task to a person, except those that were answered.
func (c *call) taskAsks(t *task, s *taskState, answered []string, fail func(Code, string) (json.RawMessage, bool, error)) (json.RawMessage, bool, error) {
	questions, err := questionsOf(c.name, s.InputRequests)
	if errors.Is(err, errNotOffered) {
		return fail(CodeNeedsInput, "cannot go on: "+err.Error()+".")
	} else if err != nil {
		return fail(CodeInvalidReply, "cannot go on: "+err.Error()+".")
	}
	questions = slices.DeleteFunc(questions, func(q codemode.Question) bool { return slices.Contains(answered, q.ID) })
	if len(questions) == 0 {
		return nil, false, nil // the server has not looked at the answers yet
	}
	err = inputRequired(questions, resumeState{Kind: resumeTask, Task: t, Answered: answered})
	if ask := (*codemode.InputRequired)(nil); !errors.As(err, &ask) {
		return fail(CodeInvalidReply, "cannot go on: "+err.Error()+".")
	}
	return nil, true, err
}

// tellTask gives a task the answers of a person, and waits on.
func (c *call) tellTask(ctx context.Context, again *resumption) (json.RawMessage, error) {
	t := again.Task
	if len(again.answers) == 0 {
		return c.await(ctx, t, again.Answered)
	}
	if _, err := c.taskRequest(ctx, methodTaskTell, &taskParams{TaskID: t.ID, InputResponses: again.answers}); err != nil {
		if ctx.Err() != nil {
			c.stopTask(ctx, t)
		}
		return nil, err
	}
	answered := slices.Clone(again.Answered)
	for id := range again.answers {
		answered = append(answered, id)
	}
	return c.await(ctx, t, answered)
}

// taskRequest makes one request about a task.
func (c *call) taskRequest(ctx context.Context, method string, p *taskParams) (*taskState, error) {
	conn, tool, err := c.current(c.Tool)
	if err != nil {
		return nil, ofTask(err, true)
	}
	release, err := c.admit(ctx)
	if err != nil {
		return nil, ofTask(err, !tool.ReadOnly)
	}
	defer release()
	f := conn.takeOff(ctx, c.Request, c.server.CallTimeout)
	defer f.land()
	raw, answer, err := conn.captured(f.ctx, func(ctx context.Context) (any, error) {
		return sdk.CallCustomMethod[*taskParams, *taskResult](withTaskName(ctx, p.TaskID), conn.session, method, p)
	})
	if err != nil {
		return nil, ofTask(c.explain(f.ctx, answer, err), !tool.ReadOnly)
	}
	var s taskState
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, c.unacceptable(tool, CodeInvalidReply, "it does not describe a task.")
	}
	if method == methodTaskGet && s.TaskID != p.TaskID {
		return nil, c.unacceptable(tool, CodeInvalidReply, "it describes another task.")
	}
	return &s, nil
}

// ofTask makes the error of a request about a task the error of the call, which continues at
// the server.
func ofTask(err error, unknown bool) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Unknown = unknown
	}
	return err
}

// taskError says why a task was given up.
func (c *call) taskError(life context.Context, t *task) error {
	e := c.explain(life, &capture{}, life.Err())
	if errors.Is(context.Cause(life), errTaskTooLong) {
		e.Code, e.Message = CodeTimeout, fmt.Sprintf("The task of %q of MCP server %s did not end until %s.", c.Tool, c.name, t.Until.UTC().Format(time.RFC3339))
	}
	return e
}

// stopTask tells the server, in the background, that no one waits for a task any more.
func (c *call) stopTask(ctx context.Context, t *task) {
	conn, _, err := c.current(c.Tool)
	if err != nil {
		return // it cannot be told, and forgets the task in time
	}
	conn.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.options.times.taskStop)
		defer cancel()
		stop := context.AfterFunc(conn.calls, cancel)
		defer stop()
		_, _, err := conn.captured(ctx, func(ctx context.Context) (any, error) {
			return sdk.CallCustomMethod[*taskParams, *taskResult](withTaskName(ctx, t.ID), conn.session, methodTaskStop, &taskParams{TaskID: t.ID})
		})
		if err != nil && conn.calls.Err() == nil {
			c.log.Warn("a task of an MCP server was not cancelled", "tool", bounded(c.Tool, 100), "error", bounded(err.Error(), maxErrorText))
		}
	})
}

// withTaskName has a request over the network name its task in a header, which the
// extension demands and the SDK does not know of.
func withTaskName(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, taskNameKey{}, id)
}

// taskRefused is the error of a call that a server continues as a task. The server tells no
// more about it before someone has signed in. The call must not be made again.
type taskRefused struct {
	state resumeState
	err   error
}

// Error says why.
func (e *taskRefused) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *taskRefused) Unwrap() error { return e.err }
