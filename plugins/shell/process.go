package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/sessions"
	"github.com/quoinhq/quoin/sdk"
)

const processTool = "process"

// processInput is the input of process.
type processInput struct {
	Action    string   `json:"action" enum:"list,status,poll,log,write,send-keys,paste,submit,resize,kill,clear,remove" jsonschema:"what to do; clear forgets a process that has ended, remove kills it before"`
	SessionID string   `json:"sessionId,omitempty" max:"64" jsonschema:"which process; needed for all actions but list"`
	WaitMs    *int64   `json:"waitMs,omitempty" min:"0" max:"1800000" jsonschema:"poll: how long to wait; without it, poll does not wait for output, and half an hour for the end"`
	Until     string   `json:"until,omitempty" enum:"output,end" jsonschema:"poll: wait for new output (default), or for the end of the process and return all of its output"`
	Offset    *int     `json:"offset,omitempty" min:"0" jsonschema:"log: first line, from 0; without it, the last lines"`
	Limit     int      `json:"limit,omitempty" min:"1" max:"10000" default:"200" jsonschema:"log: how many lines"`
	Raw       bool     `json:"raw,omitempty" jsonschema:"poll, log: keep the control sequences of terminals"`
	Data      string   `json:"data,omitempty" max:"65536" jsonschema:"write, submit: the text to write; submit adds Enter"`
	EOF       bool     `json:"eof,omitempty" jsonschema:"write: end the input after data"`
	Keys      []string `json:"keys,omitempty" jsonschema:"send-keys: names such as Enter, Tab, Escape, Up, F1, C-c, M-x; others are typed as they are"`
	Text      string   `json:"text,omitempty" max:"65536" jsonschema:"paste: the text to paste"`
	Columns   int      `json:"columns,omitempty" min:"1" max:"1000" jsonschema:"resize"`
	Rows      int      `json:"rows,omitempty" min:"1" max:"1000" jsonschema:"resize"`
}

var processFields = []string{"action", "sessionId", "waitMs", "until", "offset", "limit", "raw", "data", "eof", "keys", "text", "columns", "rows"}

// maxWait bounds a poll.
const maxWait = 30 * time.Minute

func (s *shell) addProcess(p *sdk.Plugin) *sdk.ToolRef {
	wait := maxWait.Milliseconds() / 30
	return sdk.AddTool(p, sdk.Tool{
		Name:  processTool,
		Label: "Look at processes",
		Description: "Looks at the processes of this session that exec has started, writes to them and ends them. poll returns the output since the last answer and may wait for more, and all of it with until: \"end\"; " +
			"log returns lines of all of it. Output in the middle of very much is left out.",
		Examples: []sdk.Example{
			{Description: "wait for the end, a minute at most", Input: processInput{Action: "poll", SessionID: "k3d6a2bq-q2x7m4c9aa", Until: "end", WaitMs: &wait}},
			{Description: "leave vi", Input: processInput{Action: "send-keys", SessionID: "k3d6a2bq-q2x7m4c9aa", Keys: []string{"Escape", ":q!", "Enter"}}},
		},
	}, s.process)
}

func (s *shell) process(ctx context.Context, c *sdk.Call, in processInput) (processAnswer, error) {
	o := owner(c.Run)
	switch {
	case in.Action == "list":
		all := s.list(o)
		return processAnswer{processResult: processResult{Status: sessions.Completed, Output: table(all)}, Processes: all}, nil
	case in.SessionID == "":
		return processAnswer{}, sdk.Errorf("invalid_input", "sessionId is missing: name the process; list shows those that there are")
	}
	session, err := s.table.Get(o, in.SessionID)
	if err != nil {
		return s.actOnLost(ctx, o, in, err)
	}
	if err := s.checkInput(c, session, in); err != nil {
		return processAnswer{}, err
	}
	if in.Action == "poll" && (in.Until == "end" || in.WaitMs != nil) {
		_ = c.Progress(sdk.Steps{Message: "waits for process " + in.SessionID}) // for people who watch
	}
	answer, err := s.act(ctx, o, session, in)
	if err != nil {
		return processAnswer{}, explain(err)
	}
	return answer, nil
}

// act does to a process what the call asks for, and returns how it stands afterwards.
func (s *shell) act(ctx context.Context, o sessions.Owner, session *sessions.Session, in processInput) (processAnswer, error) {
	var answer processAnswer
	var err error
	switch in.Action {
	case "log":
		return logOf(session, in), nil
	case "poll":
		return poll(ctx, session, in)
	case "kill":
		if err = session.Kill(ctx); err == nil {
			return poll(ctx, session, processInput{Raw: in.Raw})
		}
	case "clear":
		_, err = s.table.Clear(o, in.SessionID)
	case "remove":
		_, err = s.table.Remove(ctx, o, in.SessionID)
	case "resize":
		err = resize(session, in)
	case "write", "send-keys", "paste", "submit":
		var typed typing
		if typed, err = typingOf(session, in); err == nil {
			err = session.Write(ctx, typed.bytes, typed.eof)
		}
	}
	answer.processResult = stateOf(session.State())
	return answer, err
}

// poll returns the output since the last answer, or all of it where the caller waits for the end: which part of it an
// earlier answer had would be a matter of luck.
func poll(ctx context.Context, session *sessions.Session, in processInput) (processAnswer, error) {
	wait, untilEnd := time.Duration(0), in.Until == "end"
	if untilEnd {
		wait = maxWait
	}
	if in.WaitMs != nil {
		wait = min(time.Duration(*in.WaitMs)*time.Millisecond, maxWait)
	}
	text, omitted, err := session.Poll(ctx, wait, untilEnd, in.Raw)
	if err != nil {
		return processAnswer{}, err
	}
	if untilEnd {
		text, omitted = session.Output(in.Raw)
	}
	r := stateOf(session.State())
	r.Output, r.OmittedBytes = text, omitted
	return processAnswer{processResult: r}, nil
}

func logOf(session *sessions.Session, in processInput) processAnswer {
	offset := -1
	if in.Offset != nil {
		offset = *in.Offset
	}
	text, first, lines, omitted := session.Log(offset, in.Limit, in.Raw)
	r := stateOf(session.State())
	r.Output, r.OmittedBytes = text, omitted
	return processAnswer{processResult: r, Offset: &first, Lines: &lines}
}

func resize(session *sessions.Session, in processInput) error {
	if in.Columns == 0 || in.Rows == 0 {
		return &sessions.Error{Code: sessions.CodeInvalid, Message: "resize needs columns and rows"}
	}
	return session.Resize(execution.Size{Columns: uint16(in.Columns), Rows: uint16(in.Rows)})
}

// writes are the actions that write to a process.
var writes = []string{"write", "send-keys", "paste", "submit"}

// checkInput refuses to write to a process against its rule.
func (s *shell) checkInput(c *sdk.Call, session *sessions.Session, in processInput) error {
	a, err := s.approvalOfInput(session, in)
	if err != nil || a == nil {
		return err
	}
	if c.Approval == nil || c.Approval.Subject != a.Subject {
		return sdk.Errorf(codeApproval, "writing to process %s needs the approval of a person, and has none", in.SessionID)
	}
	return nil
}

// approvalOfInput is what a person is asked about a text that is to be written to a
// process; nil if no one needs to be asked.
func (s *shell) approvalOfInput(session *sessions.Session, in processInput) (*sdk.Approval, error) {
	spec := session.State().Spec
	if !slices.Contains(writes, in.Action) || spec.Input == sessions.FreeInput {
		return nil, nil
	}
	if spec.Input == sessions.NoInput {
		return nil, sdk.Errorf(codeDenied, "process %s takes no input: its programs would take commands from there that are not on the allow-list", in.SessionID)
	}
	typed, err := typingOf(session, in)
	if err != nil {
		return nil, explain(err)
	}
	return &sdk.Approval{
		Title: "Write to a process", Severity: "warning",
		Description: fmt.Sprintf("Input: %s\nProcess: %s\nCommand:%s\nHost: %s\nCWD: %s",
			typed.shown(), in.SessionID, marked(spec.Line), spec.Host, shownWord(spec.Command.Dir)),
		Timeout: s.approvalTimeout(), Allowed: onceOnly, Subject: typed.subject(in.SessionID),
	}, nil
}

// shown is the text as a person reads it: every byte that is no letter is an escape.
func (t typing) shown() string {
	shown := strconv.QuoteToASCII(string(t.bytes))
	if t.eof {
		shown += " and the end of the input"
	}
	return shown
}
