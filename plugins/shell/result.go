package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/quoinhq/quoin/internal/shell/sessions"
	"github.com/quoinhq/quoin/internal/text"
)

// processResult is what programs get of a process.
type processResult struct {
	Status sessions.Status `json:"status" enum:"running,completed,failed,killed" jsonschema:"completed: it has ended by itself, whatever its exitCode; failed: a signal, its timeout or a limit has ended it"`
	// Output is the text that this answer is about.
	Output       string `json:"output"`
	ExitCode     *int   `json:"exitCode,omitempty" jsonschema:"once it has ended; -1 when a signal has ended it"`
	SessionID    string `json:"sessionId,omitempty" jsonschema:"names the process to the tool process"`
	PID          int    `json:"pid,omitempty"`
	Signal       string `json:"signal,omitempty"`
	TimedOut     bool   `json:"timedOut,omitempty"`
	Reason       string `json:"reason,omitempty" jsonschema:"why it was ended, if it has not ended by itself"`
	Command      string `json:"command,omitempty"`
	Host         string `json:"host,omitempty"`
	Node         string `json:"node,omitempty"`
	Cwd          string `json:"cwd,omitempty"`
	StartedAt    int64  `json:"startedAt,omitempty" jsonschema:"milliseconds since 1970"`
	DurationMs   int64  `json:"durationMs,omitempty"`
	Tail         string `json:"tail,omitempty" jsonschema:"the end of the output, while it runs"`
	OmittedBytes int64  `json:"omittedBytes,omitempty" jsonschema:"how much of the output was left out in the middle"`
	ApprovalID   string `json:"approvalId,omitempty" jsonschema:"the approval that let it run"`
}

// processAnswer is what the tool process returns.
type processAnswer struct {
	processResult
	Processes []processResult `json:"processes,omitzero" jsonschema:"list: the processes of this session, the oldest first"`
	// Offset and Lines are of a log.
	Offset *int `json:"offset,omitempty" jsonschema:"log: the line that the output starts with"`
	Lines  *int `json:"lines,omitempty" jsonschema:"log: how many lines there are"`
}

// tailBytes bounds the field tail.
const tailBytes = 2000

// whole is all of a process; later polls return what comes from now on.
func whole(session *sessions.Session) processResult {
	output, omitted := session.Output(false)
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
		Cwd: st.Spec.Command.Dir, StartedAt: st.Started.UnixMilli(), ApprovalID: st.Spec.ApprovalID,
	}
	if st.Status == sessions.Running {
		r.DurationMs = time.Since(st.Started).Milliseconds()
		return r
	}
	code := st.Exit.Code
	r.ExitCode, r.Signal, r.Reason = &code, st.Exit.Signal, st.Exit.Reason
	r.DurationMs = st.Ended.Sub(st.Started).Milliseconds()
	if st.Timeout {
		r.TimedOut, r.Reason = true, fmt.Sprintf("it ran longer than its timeout of %v", st.Spec.Timeout)
	}
	return r
}

// lastBytes is the end of s, cut at a character.
func lastBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[len(text.Cut(s, len(s)-n)):]
}

// table shows processes to a model, one line each.
func table(all []processResult) string {
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "%s %s %v %s\n", r.SessionID, r.Status, time.Duration(r.DurationMs)*time.Millisecond, text.Shorten(text.Printable(r.Command), 80))
	}
	return b.String()
}
