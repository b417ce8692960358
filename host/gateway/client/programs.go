package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/programs"
)

// saveBody is the body of POST /v1/programs.
type saveBody struct {
	programs.Request
	By string `json:"by,omitempty"`
}

// acceptBody is the body of POST /v1/program-reviews.
type acceptBody struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	By     string `json:"by,omitempty"`
}

// programBody is the body of POST /v1/programs/{name}.
type programBody struct {
	Input     json.RawMessage `json:"input,omitempty"`
	Title     string          `json:"title,omitempty"`
	TimeoutMS int64           `json:"timeoutMs,omitempty"`
	CallID    string          `json:"toolCallId,omitempty"`
}

func programPath(name string) string { return "/v1/programs/" + url.PathEscape(name) }

// Programs lists the saved programs of a session, as host.Programs.List does.
func (c *Client) Programs(ctx context.Context, s host.Session) ([]host.ProgramReview, error) {
	var list gateway.ProgramList
	err := c.get(ctx, s, "/v1/programs", &list)
	return list.Programs, err
}

// SaveProgram saves the program of a completed run, as host.Programs.Save does. What
// by claims is noted as unverified.
func (c *Client) SaveProgram(ctx context.Context, s host.Session, rq programs.Request, by string) (*programs.Program, error) {
	saved := &host.ProgramReview{}
	if err := c.post(ctx, s, "/v1/programs", saveBody{rq, by}, saved); err != nil {
		return nil, err
	}
	return saved.Program, nil
}

// Program returns a saved program, as host.Programs.Get does.
func (c *Client) Program(ctx context.Context, s host.Session, name string) (*host.ProgramReview, error) {
	p := &host.ProgramReview{}
	if err := c.get(ctx, s, programPath(name), p); err != nil {
		return nil, err
	}
	return p, nil
}

// RunProgram runs a saved program, as host.Programs.Run does. Only Title and Timeout
// of the input count.
func (c *Client) RunProgram(ctx context.Context, s host.Session, name string, input json.RawMessage, in host.ExecInput) (*host.Result, error) {
	res := &host.Result{}
	if err := c.post(ctx, s, programPath(name), programBody{input, in.Title, millis(in.Timeout), host.ToolCallID(ctx)}, res); err != nil {
		return nil, err
	}
	return res, nil
}

// AcceptProgram accepts the changes of a program's tools, as host.Programs.Accept does.
func (c *Client) AcceptProgram(ctx context.Context, s host.Session, name, digest, by string) (*host.ProgramReview, error) {
	p := &host.ProgramReview{}
	if err := c.post(ctx, s, "/v1/program-reviews", acceptBody{name, digest, by}, p); err != nil {
		return nil, err
	}
	return p, nil
}

// RemoveProgram forgets a saved program, as host.Programs.Remove does.
func (c *Client) RemoveProgram(ctx context.Context, s host.Session, name string, of programs.Audience) error {
	path := programPath(name)
	if of != "" {
		path += "?for=" + url.QueryEscape(string(of))
	}
	return c.do(ctx, s, http.MethodDelete, path, nil, nil)
}
