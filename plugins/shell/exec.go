package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/internal/shell/sessions"
	"github.com/quoinhq/quoin/internal/shell/settings"
	"github.com/quoinhq/quoin/sdk"
)

const execTool = "exec"

func (s *shell) addExec(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:  execTool,
		Label: "Run a command",
		Description: "Runs a shell command and returns {status, exitCode, output, cwd, sessionId, …}. A command that is not done after yieldMs goes on in the background " +
			"as a session: status is \"running\", and process polls it. A command that is not allowed fails with code blocked; one that a person must approve waits for them.",
		Examples: []sdk.Example{
			{Input: execInput{Command: "go test ./...", Workdir: "service"}},
			{Description: "in the background", Input: execInput{Command: "make build", Background: true, Timeout: 600}},
		},
	}, s.exec)
}

func (s *shell) exec(ctx context.Context, c *sdk.Call, in execInput) (processResult, error) {
	p, err := s.plan(ctx, c.Run, in)
	if err != nil {
		return processResult{}, err
	}
	var approvalID string
	switch p.decision {
	case refuse:
		return processResult{}, p.refusal()
	case askFirst:
		if c.Approval == nil {
			return processResult{}, sdk.Errorf(codeApproval, "the command needs the approval of a person, and has none: %s", p.why())
		}
		if c.Approval.Subject != p.subject {
			return processResult{}, sdk.Errorf(codeApproval, "what was approved is not what would run now: the command, its files or where it runs have changed; call exec again")
		}
		approvalID, p.remembered = c.Approval.ID, c.Approval.Remembered
	}
	launcher, err := s.launcher(p, approvalID != "")
	if err != nil {
		return processResult{}, err
	}
	seconds := cmp.Or(in.Timeout, float64(s.settings.TimeoutSeconds))
	session, err := s.table.Start(ctx, launcher, sessions.Spec{
		Owner: owner(c.Run), Command: s.command(p), Line: in.Command, Host: string(p.host),
		Timeout: time.Duration(seconds * float64(time.Second)), ApprovalID: approvalID, Input: p.inputRule(),
	})
	if err != nil {
		return processResult{}, explain(err)
	}
	r, err := s.await(ctx, c, session, s.yieldAfter(in))
	r.Node = p.node
	return r, err
}

// yieldAfter is how long exec waits for the end of a command.
func (s *shell) yieldAfter(in execInput) time.Duration {
	if in.Background {
		return 0
	}
	ms := float64(s.settings.YieldMs)
	if in.YieldMs != nil {
		ms = *in.YieldMs
	}
	ms = min(max(ms, float64(settings.MinYield.Milliseconds())), float64(settings.MaxYield.Milliseconds()))
	return time.Duration(ms * float64(time.Millisecond))
}

// progressEvery and progressBytes bound how often the output of a command is shown while
// it runs, and how much of it.
const (
	progressEvery = 200 * time.Millisecond
	progressBytes = 8 << 10
)

// await waits for the end of a command, shows its output until then, and returns how
// it stands in the end. A call that is given up takes its command along.
func (s *shell) await(ctx context.Context, c *sdk.Call, session *sessions.Session, wait time.Duration) (processResult, error) {
	yield := time.NewTimer(wait)
	defer yield.Stop()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	var shown int64
	show := func() {
		if text := session.Next(&shown); text != "" {
			_ = c.Progress(progress{SessionID: session.State().ID, Output: lastBytes(text, progressBytes), Bytes: shown}) // for those who watch; the result has it all
		}
	}
	for {
		select {
		case <-session.Done():
			show()
			return whole(session), nil
		case <-yield.C:
			if s.settings.NoBackground {
				return s.giveUp(session, sdk.Errorf(codeNotAllowed, "the command did not end within yieldMs and was killed: commands in the background are not allowed here (plugins.shell.noBackground)"))
			}
			s.remember(session)
			return whole(session), nil
		case <-ctx.Done():
			return s.giveUp(session, context.Cause(ctx))
		case <-tick.C:
			show()
		}
	}
}

// progress is what those who watch a run see of a command.
type progress struct {
	SessionID string `json:"sessionId"`
	Output    string `json:"output"`
	Bytes     int64  `json:"bytes"`
}

// giveUp kills a command that no one waits for any more.
func (s *shell) giveUp(session *sessions.Session, why error) (processResult, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*killGrace)
	defer cancel()
	return processResult{}, errors.Join(why, session.Kill(ctx))
}

// owner returns the owner of a process: the caller alone, also where it has no name.
func owner(rc sdk.RunContext) sessions.Owner { return sessions.Owner("session " + rc.Identity()) }

// explain makes an error one that programs can compare.
func explain(err error) error {
	var e *sessions.Error
	if errors.As(err, &e) {
		return sdk.Errorf(e.Code, "%s", e.Message)
	}
	if code := nodeCode(err); code != "" {
		return sdk.Errorf(code, "%v", err)
	}
	return sdk.Errorf(codeStart, "the command could not be started: %v", err)
}
