package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// Program is what a run starts with.
type Program struct {
	Code     string `json:"code"`
	Command  string `json:"command"`
	Language string `json:"language"`
	Title    string `json:"title,omitempty"`
}

// rewritten reads a program that a hook has rewritten. Code and command are one
// thing with two names: a change of one is taken over into the other, and two
// different changes are refused.
func rewrittenProgram(s codemode.Settings, before, after json.RawMessage) (json.RawMessage, error) {
	var old Program
	if err := json.Unmarshal(before, &old); err != nil {
		return nil, err
	}
	p := old // what the hook leaves out is as it was
	d := json.NewDecoder(bytes.NewReader(after))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("a program has the strings code, command, language and title: %w", err)
	}
	switch {
	case strings.TrimSpace(p.Code) == "", strings.TrimSpace(p.Command) == "":
		return nil, errors.New("it left code or command blank: block instead")
	case p.Command == old.Command:
		p.Command = p.Code
	case p.Code == old.Code:
		p.Code = p.Command
	case p.Code != p.Command:
		return nil, errors.New("it changed code and command in different ways")
	}
	if _, _, f := (run.Input{Code: p.Code, Language: p.Language}).Source(s); f != nil {
		return nil, f
	}
	return jsontext.Marshal(p)
}

// programCall is the program as hooks see it.
func (r *Run) programCall(params json.RawMessage, kind policy.InputKind) policy.Call {
	t := policy.ExecTool
	return policy.Call{
		Kind: policy.KindExec, InputKind: kind, ToolID: t.ID(), Source: t.Source, Owner: t.Owner, ToolName: t.Name,
		Params: params, Session: r.Session, RunID: r.ID, CallID: calls.PublicID(&runstore.Call{Method: calls.MethodExec}),
	}
}
