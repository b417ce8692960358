package main

import (
	"github.com/quoinhq/quoin/internal/shell/sessions"
	"github.com/quoinhq/quoin/internal/text"
)

// processResult is what programs get of a process.
type processResult struct {
	Status    sessions.Status `json:"status" enum:"running,completed,failed,killed"`
	SessionID string          `json:"sessionId" jsonschema:"names the process to process"`
	PID       int             `json:"pid,omitempty"`
	ExitCode  *int            `json:"exitCode,omitempty" jsonschema:"once it has ended; -1 when a signal has ended it"`
	Signal    string          `json:"signal,omitempty"`
	TimedOut  bool            `json:"timedOut,omitempty"`
	Reason    string          `json:"reason,omitempty" jsonschema:"why it was ended, if it has not ended by itself"`
	Command   string          `json:"command,omitempty"`
	Host      string          `json:"host,omitempty"`
	Cwd       string          `json:"cwd,omitempty"`
	StartedAt int64           `json:"startedAt,omitempty" jsonschema:"milliseconds since 1970"`
	Duration  int64           `json:"durationMs"`
	// Output is the text that this answer is about.
	Output       string `json:"output"`
	Tail         string `json:"tail,omitempty" jsonschema:"the end of the output, while it runs"`
	OmittedBytes int64  `json:"omittedBytes,omitempty" jsonschema:"how much of the output was left out in the middle"`
	ApprovalID   string `json:"approvalId,omitempty" jsonschema:"the approval that let it run"`
}

// tailBytes bounds the field tail.
const tailBytes = 2000

// finished is all of a process, and has later polls return what comes from now on.
func finished(session *sessions.Session) processResult {
	output, omitted := session.MarkSeen(false)
	r := stateOf(session.State())
	r.Output, r.OmittedBytes = output, omitted
	if r.Status == sessions.Running {
		r.Tail = lastBytes(output, tailBytes)
	}
	return r
}

// stateOf is how a process stands, without its output.
func stateOf(st sessions.State) processResult {
	r := processResult{
		Status: st.Status, SessionID: st.ID, PID: st.PID, Command: st.Spec.Line, Host: st.Spec.Host,
		Cwd: st.Spec.Command.Dir, StartedAt: st.Started.UnixMilli(), TimedOut: st.Timeout && st.Status == sessions.Failed,
	}
	if st.Status == sessions.Running {
		return r
	}
	code := st.Exit.Code
	r.ExitCode, r.Signal, r.Reason = &code, st.Exit.Signal, st.Exit.Reason
	r.Duration = st.Ended.Sub(st.Started).Milliseconds()
	return r
}

// lastBytes is the end of s, cut at a character.
func lastBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[len(text.Cut(s, len(s)-n)):]
}
