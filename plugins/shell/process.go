package main

import (
	"context"
	"time"

	"github.com/quoinhq/quoin/sdk"
)

const processTool = "process"

// processInput is the input of process.
type processInput struct {
	Action    string `json:"action" enum:"list,poll,log,write,send-keys,paste,submit,resize,kill,clear,remove"`
	SessionID string `json:"sessionId,omitempty" jsonschema:"which process; needed for all actions but list"`
	WaitMs    int64  `json:"waitMs,omitempty" min:"0" max:"1800000" jsonschema:"poll: how long to wait for output or the end"`
}

// maxWait bounds a poll.
const maxWait = 30 * time.Minute

func (s *shell) addProcess(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        processTool,
		Label:       "Look at processes",
		Description: "Looks at the processes that exec has started, writes to them and ends them.",
		Examples:    []sdk.Example{{Input: processInput{Action: "poll", SessionID: "3k5d6a2b-q2x7m4c9aa", WaitMs: 60_000}}},
	}, s.process)
}

// processAnswer is what process returns.
type processAnswer struct {
	*processResult
	Processes []processResult `json:"processes,omitempty"`
}

func (s *shell) process(ctx context.Context, c *sdk.Call, in processInput) (processAnswer, error) {
	o := owner(c.Run)
	if in.Action == "list" {
		var all []processResult
		for _, st := range s.table.List(o) {
			all = append(all, stateOf(st))
		}
		return processAnswer{Processes: all}, nil
	}
	session, err := s.table.Get(o, in.SessionID)
	if err != nil {
		return processAnswer{}, explain(err)
	}
	switch in.Action {
	case "kill":
		if err := session.Kill(ctx); err != nil {
			return processAnswer{}, explain(err)
		}
	}
	text, omitted, err := session.Poll(ctx, min(time.Duration(in.WaitMs)*time.Millisecond, maxWait), false)
	if err != nil {
		return processAnswer{}, explain(err)
	}
	r := stateOf(session.State())
	r.Output, r.OmittedBytes = text, omitted
	return processAnswer{processResult: &r}, nil
}

// forget is called when a process is removed.
func (s *shell) forget(string) {}
