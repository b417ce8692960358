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
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/trajectory"
)

// cell is the body of an exec request.
type cell struct {
	Code      string       `json:"code"`
	Command   string       `json:"command,omitempty"`
	Language  string       `json:"language,omitempty"`
	Title     string       `json:"title,omitempty"`
	Tools     []tool       `json:"tools,omitempty"`
	Rules     policy.Rules `json:"rules,omitzero"`
	TimeoutMS int64        `json:"timeoutMs,omitempty"`
	CallID    string       `json:"toolCallId,omitempty"`
}

// tool is a tool of the caller's.
type tool struct {
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

// answer is the body of an answer to a call.
type answer struct {
	RunID  string          `json:"runId"`
	CallID string          `json:"callId"`
	Value  json.RawMessage `json:"value,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// resumption is the body of requests about a run.
type resumption struct {
	RunID     string `json:"runId"`
	TimeoutMS int64  `json:"timeoutMs,omitempty"`
	CallID    string `json:"toolCallId,omitempty"`
}

// decision is the body of a decision.
type decision struct {
	ID       string          `json:"id"`
	Decision policy.Decision `json:"decision"`
	By       string          `json:"by,omitempty"`
}

// millis rounds up, so that a short time is not taken for none.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// Exec runs a program, as host.Host.Exec does. Tools of the caller's must be
// without Invoke, which cannot travel: their calls are answered with Answer.
func (c *Client) Exec(ctx context.Context, s host.Session, in host.ExecInput) (*host.Result, error) {
	body := cell{Code: in.Code, Command: in.Command, Language: in.Language, Title: in.Title, Rules: in.Rules, TimeoutMS: millis(in.Timeout), CallID: host.ToolCallID(ctx)}
	for _, t := range in.Tools {
		if t.Invoke != nil {
			return nil, errors.New("tool " + t.Name + " has an Invoke, which a server cannot call: leave it out, and use Answer")
		}
		body.Tools = append(body.Tools, tool{t.Name, t.Label, t.Description, t.Owner, t.Parameters, t.Output, t.ReadOnly, t.Idempotent, t.Examples})
	}
	res := &host.Result{}
	if err := c.post(ctx, s, "/v1/exec", body, res); err != nil {
		return nil, err
	}
	return res, nil
}

// Answer gives a run the result of a call of one of the caller's own tools, as
// host.Host.Answer does.
func (c *Client) Answer(ctx context.Context, s host.Session, runID, callID string, a host.ToolAnswer) error {
	if a.Error != "" {
		a.Value = nil
	}
	return c.post(ctx, s, "/v1/answers", answer{runID, callID, a.Value, a.Error}, nil)
}

// PendingInput returns the input of a call that the session is to answer, as
// host.Host.PendingInput does.
func (c *Client) PendingInput(ctx context.Context, s host.Session, runID, callID string) (json.RawMessage, error) {
	var in gateway.PendingInput
	err := c.get(ctx, s, "/v1/calls/"+url.PathEscape(callID)+"?"+url.Values{"run": {runID}}.Encode(), &in)
	return in.Input, err
}

// Wait goes on with a suspended run, as host.Host.Wait does.
func (c *Client) Wait(ctx context.Context, s host.Session, runID string) (*host.Result, error) {
	return c.WaitFor(ctx, s, runID, 0)
}

// WaitFor is Wait with a shorter time limit than the server's. Zero means no
// change.
func (c *Client) WaitFor(ctx context.Context, s host.Session, runID string, timeout time.Duration) (*host.Result, error) {
	res := &host.Result{}
	if err := c.post(ctx, s, "/v1/wait", resumption{runID, millis(timeout), host.ToolCallID(ctx)}, res); err != nil {
		return nil, err
	}
	return res, nil
}

// Abort ends a run, as host.Host.Abort does.
func (c *Client) Abort(ctx context.Context, s host.Session, runID string) (*host.Result, error) {
	res := &host.Result{}
	if err := c.post(ctx, s, "/v1/abort", resumption{RunID: runID}, res); err != nil {
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
		s = host.Session{AgentID: f.Session.AgentID, SessionKey: f.Session.SessionKey, SessionID: f.Session.SessionID, TurnID: f.Session.TurnID}
	}
	var list gateway.ApprovalList
	err := c.get(ctx, s, "/v1/approvals?"+query.Encode(), &list)
	return list.Approvals, err
}

// Decide enters a person's decision, as host.Host.Decide does. An approval that is
// not there is policy.ErrNotFound, too.
func (c *Client) Decide(ctx context.Context, id string, d policy.Decision, by string) (*policy.Approval, error) {
	a := &policy.Approval{}
	if err := c.post(ctx, host.Session{}, "/v1/approvals", decision{id, d, by}, a); err != nil {
		return nil, missing(err, policy.ErrNotFound)
	}
	return a, nil
}

// Grants lists what was decided with allow-always, as host.Host.Grants does.
func (c *Client) Grants(ctx context.Context) ([]*policy.Grant, error) {
	var list gateway.GrantList
	err := c.get(ctx, host.Session{}, "/v1/grants", &list)
	return list.Grants, err
}

// RevokeGrant forgets an allow-always, as host.Host.RevokeGrant does. A grant that
// is not there is policy.ErrNotFound, too.
func (c *Client) RevokeGrant(ctx context.Context, id string) error {
	err := c.do(ctx, host.Session{}, http.MethodDelete, "/v1/grants/"+url.PathEscape(id), nil, nil)
	return missing(err, policy.ErrNotFound)
}

// missing gives a problem of the code not_found the meaning that it has in process.
func missing(err, means error) error {
	var p *gateway.Problem
	if errors.As(err, &p) && p.Code == gateway.ProblemNotFound {
		return &absent{p, means}
	}
	return err
}

// absent is a problem that is an error of package policy as well.
type absent struct {
	problem *gateway.Problem
	means   error
}

func (a *absent) Error() string   { return a.means.Error() }
func (a *absent) Unwrap() []error { return []error{a.means, a.problem} }

// Tools returns the entries of the session's catalog.
func (c *Client) Tools(ctx context.Context, s host.Session) ([]catalog.Entry, error) {
	var list gateway.CatalogList
	err := c.get(ctx, s, "/v1/catalog", &list)
	return list.Tools, err
}

// Tool describes the tool with an exact id.
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

// Surface returns what a model of the session is to be shown in place of the server's
// tools, in the shape of a provider if one is given. The model may be empty.
func (c *Client) Surface(ctx context.Context, s host.Session, p host.Provider, model string) (*gateway.Surface, error) {
	query := url.Values{}
	for name, value := range map[string]string{"provider": string(p), "model": model} {
		if value != "" {
			query.Set(name, value)
		}
	}
	found := &gateway.Surface{}
	err := c.get(ctx, s, "/v1/surface?"+query.Encode(), found)
	return found, err
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
func (c *Client) Runs(ctx context.Context, s host.Session) ([]host.RunInfo, error) {
	var list gateway.RunList
	err := c.get(ctx, s, "/v1/runs", &list)
	return list.Runs, err
}

// Run describes a run that has not ended: of the session, or of any if s is empty.
func (c *Client) Run(ctx context.Context, s host.Session, runID string) (host.RunInfo, error) {
	var info host.RunInfo
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

// Trajectory returns what a run of the session did.
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

// Trajectories returns what the newest runs of the session came to.
func (c *Client) Trajectories(ctx context.Context, s host.Session) ([]trajectory.Summary, error) {
	var list gateway.TrajectoryList
	err := c.get(ctx, s, "/v1/trajectory", &list)
	return list.Runs, err
}

// Health fails unless the server takes requests.
func (c *Client) Health(ctx context.Context) error {
	return c.get(ctx, host.Session{}, "/healthz", nil)
}
