package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/trajectory"
)

// execBody is the body of POST /v1/exec.
type execBody struct {
	Code      string       `json:"code"`
	Command   string       `json:"command,omitempty"`
	Language  string       `json:"language,omitempty"`
	Title     string       `json:"title,omitempty"`
	Tools     []clientTool `json:"tools,omitempty"`
	Rules     policy.Rules `json:"rules,omitzero"`
	TimeoutMS int64        `json:"timeoutMs,omitempty"`
	WaitMS    int64        `json:"waitMs,omitempty"`
	CallID    string       `json:"toolCallId,omitempty"`
}

// clientTool is a tool that the caller answers.
type clientTool struct {
	Name        string            `json:"name"`
	Label       string            `json:"label,omitempty"`
	Description string            `json:"description,omitempty"`
	Owner       string            `json:"owner,omitempty"`
	Parameters  json.RawMessage   `json:"parameters,omitempty"`
	Output      json.RawMessage   `json:"output,omitempty"`
	ReadOnly    bool              `json:"readOnly,omitempty"`
	Idempotent  bool              `json:"idempotent,omitempty"`
	Examples    []catalog.Example `json:"examples,omitempty"`
}

// answerBody is the body of POST /v1/answers.
type answerBody struct {
	RunID  string          `json:"runId"`
	CallID string          `json:"callId"`
	Value  json.RawMessage `json:"value,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// runBody is the body of POST /v1/wait and POST /v1/abort.
type runBody struct {
	RunID  string `json:"runId"`
	WaitMS int64  `json:"waitMs,omitempty"`
	CallID string `json:"toolCallId,omitempty"`
}

// decisionBody is the body of POST /v1/approvals.
type decisionBody struct {
	ID       string          `json:"id"`
	Decision policy.Decision `json:"decision"`
	By       string          `json:"by,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
}

// questionAnswersBody is the body of POST /v1/approvals/answers.
type questionAnswersBody struct {
	ID      string                         `json:"id"`
	Answers map[string]host.QuestionAnswer `json:"answers"`
	By      string                         `json:"by,omitempty"`
}

// millis rounds up: zero would mean the server's default.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// Exec runs a program, as host.Host.Exec does. A cell that fails is a Result, not an
// error. The caller's tools must have no Invoke, which cannot travel: answer their
// calls with Answer. When ctx ends before the answer arrives, the server aborts the
// run.
func (c *Client) Exec(ctx context.Context, s host.Session, in host.ExecInput) (*host.Result, error) {
	body := execBody{Code: in.Code, Command: in.Command, Language: in.Language, Title: in.Title, Rules: in.Rules, TimeoutMS: millis(in.Timeout), WaitMS: millis(in.Wait), CallID: host.ToolCallID(ctx)}
	for _, t := range in.Tools {
		if t.Invoke != nil {
			return nil, errors.New("tool " + t.Name + " has an Invoke, which a server cannot call: leave it out, and use Answer")
		}
		body.Tools = append(body.Tools, clientTool{t.Name, t.Label, t.Description, t.Owner, t.Parameters, t.Output, t.ReadOnly, t.Idempotent, t.Examples})
	}
	res := &host.Result{}
	if err := c.post(ctx, s, "/v1/exec", body, res); err != nil {
		return nil, err
	}
	return res, nil
}

// Answer gives a run the result of a call of one of the caller's own tools, as
// host.Host.Answer does. An answer with an Error has no value. The run resumes with the next
// Wait.
func (c *Client) Answer(ctx context.Context, s host.Session, runID, callID string, a host.ToolAnswer) error {
	if a.Error != "" {
		a.Value = nil
	}
	return c.post(ctx, s, "/v1/answers", answerBody{runID, callID, a.Value, a.Error}, nil)
}

// PendingInput returns the input of a call that the session is to answer, as
// host.Host.PendingInput does.
func (c *Client) PendingInput(ctx context.Context, s host.Session, runID, callID string) (json.RawMessage, error) {
	var in gateway.PendingInput
	err := c.get(ctx, s, "/v1/calls/"+url.PathEscape(callID)+"?"+url.Values{"run": {runID}}.Encode(), &in)
	return in.Input, err
}

// Wait resumes a suspended run, as host.Host.Wait does. When ctx ends before the answer
// arrives, the run continues, and the next Wait gets its result.
func (c *Client) Wait(ctx context.Context, s host.Session, runID string) (*host.Result, error) {
	return c.WaitFor(ctx, s, runID, 0)
}

// WaitFor is Wait for a caller that is willing to wait for so long, at most as long as the
// server's settings allow. Zero means 45 s.
func (c *Client) WaitFor(ctx context.Context, s host.Session, runID string, wait time.Duration) (*host.Result, error) {
	res := &host.Result{}
	if err := c.post(ctx, s, "/v1/wait", runBody{runID, millis(wait), host.ToolCallID(ctx)}, res); err != nil {
		return nil, err
	}
	return res, nil
}

// Abort ends a run, as host.Host.Abort does. Aborting a run that has ended does no
// harm: the result says that it is not available.
func (c *Client) Abort(ctx context.Context, s host.Session, runID string) (*host.Result, error) {
	res := &host.Result{}
	if err := c.post(ctx, s, "/v1/abort", runBody{RunID: runID}, res); err != nil {
		return nil, err
	}
	return res, nil
}

// Approvals returns the calls that wait for a person, oldest first, as
// host.Host.Approvals does.
func (c *Client) Approvals(ctx context.Context, f policy.Filter) ([]*policy.Approval, error) {
	query := url.Values{}
	if f.RunID != "" {
		query.Set("run", f.RunID)
	}
	if f.Resolved {
		query.Set("state", "all")
	}
	var s host.Session
	if f.Session != nil {
		s = *f.Session
	}
	var list gateway.ApprovalList
	err := c.get(ctx, s, "/v1/approvals?"+query.Encode(), &list)
	return list.Approvals, err
}

// Decide enters a person's decision, as host.Approvals.Decide does. An approval that
// does not exist is policy.ErrNotFound, too.
func (c *Client) Decide(ctx context.Context, id string, d policy.Decision, by string) (*policy.Approval, error) {
	return c.decided(ctx, "/v1/approvals", decisionBody{id, d, by, nil})
}

// AllowEdited allows a call once, with another input than its own, as
// host.Approvals.AllowEdited does.
func (c *Client) AllowEdited(ctx context.Context, id string, input json.RawMessage, by string) (*policy.Approval, error) {
	return c.decided(ctx, "/v1/approvals", decisionBody{id, policy.AllowOnce, by, input})
}

// AnswerQuestion enters the answers to the questions of a call, as
// host.Approvals.Answer does.
func (c *Client) AnswerQuestion(ctx context.Context, id string, answers map[string]host.QuestionAnswer, by string) (*policy.Approval, error) {
	return c.decided(ctx, "/v1/approvals/answers", questionAnswersBody{id, answers, by})
}

// decided posts what a person has decided, and returns the approval as it is then.
func (c *Client) decided(ctx context.Context, path string, body any) (*policy.Approval, error) {
	a := &policy.Approval{}
	if err := c.post(ctx, host.Session{}, path, body, a); err != nil {
		return nil, notFoundAs(err, policy.ErrNotFound)
	}
	return a, nil
}

// Grants lists what was decided with allow-always, as host.Approvals.Grants does.
func (c *Client) Grants(ctx context.Context) ([]*policy.Grant, error) {
	var list gateway.GrantList
	err := c.get(ctx, host.Session{}, "/v1/grants", &list)
	return list.Grants, err
}

// RevokeGrant removes an allow-always, as host.Approvals.Revoke does. A grant that
// does not exist is policy.ErrNotFound, too.
func (c *Client) RevokeGrant(ctx context.Context, id string) error {
	err := c.do(ctx, host.Session{}, http.MethodDelete, "/v1/grants/"+url.PathEscape(id), nil, nil)
	return notFoundAs(err, policy.ErrNotFound)
}

// notFoundAs makes a problem of the code not_found the error that it is in process.
func notFoundAs(err, means error) error {
	var p *gateway.Problem
	if errors.As(err, &p) && p.Code == gateway.ProblemNotFound {
		return &notFoundError{p, means}
	}
	return err
}

// notFoundError is a problem that is an error of package policy as well.
type notFoundError struct {
	problem *gateway.Problem
	means   error
}

// Error implements error.
func (e *notFoundError) Error() string { return e.means.Error() }

// Unwrap lets errors.Is and errors.As find both errors.
func (e *notFoundError) Unwrap() []error { return []error{e.means, e.problem} }

// Tools returns the entries of the session's catalog.
func (c *Client) Tools(ctx context.Context, s host.Session) ([]catalog.Entry, error) {
	var list gateway.CatalogList
	err := c.get(ctx, s, "/v1/catalog", &list)
	return list.Tools, err
}

// Tool describes the tool with an exact id, schemas included. A tool that the
// session does not see is a Problem of the code not_found.
func (c *Client) Tool(ctx context.Context, s host.Session, id string) (*catalog.Description, error) {
	d := &catalog.Description{}
	if err := c.get(ctx, s, "/v1/catalog/"+url.PathEscape(id), d); err != nil {
		return nil, err
	}
	return d, nil
}

// Namespaces returns the namespaces that cells of the session can use.
func (c *Client) Namespaces(ctx context.Context, s host.Session) ([]host.Namespace, error) {
	var list gateway.NamespaceList
	err := c.get(ctx, s, "/v1/namespaces", &list)
	return list.Namespaces, err
}

// ModelTools returns the tools that a model of the session is shown in place of the
// server's tools, in the shape of a provider if one is given. The model may be empty.
func (c *Client) ModelTools(ctx context.Context, s host.Session, p modeltools.Provider, model string) (*gateway.ModelTools, error) {
	query := url.Values{}
	for name, value := range map[string]string{"provider": string(p), "model": model} {
		if value != "" {
			query.Set(name, value)
		}
	}
	tools := &gateway.ModelTools{}
	err := c.get(ctx, s, "/v1/surface?"+query.Encode(), tools)
	return tools, err
}

// Plugins returns every plugin of the server's plugin directory.
func (c *Client) Plugins(ctx context.Context) ([]gateway.Plugin, error) {
	var list gateway.PluginList
	err := c.get(ctx, host.Session{}, "/v1/plugins", &list)
	return list.Plugins, err
}

// MCPServers returns every upstream MCP server of the server that is not disabled.
func (c *Client) MCPServers(ctx context.Context) ([]gateway.MCPServer, error) {
	var list gateway.MCPServerList
	err := c.get(ctx, host.Session{}, "/v1/mcp-servers", &list)
	return list.Servers, err
}

// Runs lists the runs that have not ended, oldest first: of the session, or of all
// if s is empty.
func (c *Client) Runs(ctx context.Context, s host.Session) ([]codemode.RunInfo, error) {
	var list gateway.RunList
	err := c.get(ctx, s, "/v1/runs", &list)
	return list.Runs, err
}

// Run describes a run that has not ended: of the session, or of any if s is empty.
func (c *Client) Run(ctx context.Context, s host.Session, runID string) (codemode.RunInfo, error) {
	var info codemode.RunInfo
	err := c.get(ctx, s, "/v1/runs/"+url.PathEscape(runID), &info)
	return info, err
}

// EndRun aborts a run as Abort does: of the session, or of any if s is empty.
func (c *Client) EndRun(ctx context.Context, s host.Session, runID string) (*host.Result, error) {
	res := &host.Result{}
	if err := c.do(ctx, s, http.MethodDelete, "/v1/runs/"+url.PathEscape(runID), nil, res); err != nil {
		return nil, err
	}
	return res, nil
}

// Trajectory returns the record of a run of the session. Its Torn says why the
// events end early, if they do.
func (c *Client) Trajectory(ctx context.Context, s host.Session, runID string) (*trajectory.Run, error) {
	var t gateway.Trajectory
	if err := c.get(ctx, s, "/v1/trajectory/"+url.PathEscape(runID), &t); err != nil {
		return nil, err
	}
	run := &trajectory.Run{ID: t.RunID, Session: t.Session, Events: t.Events}
	if t.Torn != "" {
		run.Torn = errors.New(t.Torn)
	}
	return run, nil
}

// Trajectories summarises the newest runs of the session, newest first.
func (c *Client) Trajectories(ctx context.Context, s host.Session) ([]trajectory.Summary, error) {
	var list gateway.TrajectoryList
	err := c.get(ctx, s, "/v1/trajectory", &list)
	return list.Runs, err
}

// Health returns nil if the server takes requests. It needs no token.
func (c *Client) Health(ctx context.Context) error {
	return c.get(ctx, host.Session{}, "/healthz", nil)
}
