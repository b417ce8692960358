package codemode

import (
	"errors"
	"fmt"

	"github.com/quoinhq/quoin/internal/text"
)

// Code classifies a failure. The list only grows.
type Code string

// The codes of a failed Result.
const (
	CodeInvalidInput  Code = "invalid_input"
	CodeUnavailable   Code = "runtime_unavailable"
	CodeTimeout       Code = "timeout"
	CodeOutputLimit   Code = "output_limit_exceeded"
	CodeSnapshotLimit Code = "snapshot_limit_exceeded"
	CodeMemoryLimit   Code = "memory_limit_exceeded"
	CodeAborted       Code = "aborted"
	CodeInternal      Code = "internal_error"
)

// Reason refines a Code, or says why a Result is waiting. The list only grows.
type Reason string

// The reasons of failed results.
const (
	ReasonInvalidConfig       Reason = "invalid_config"
	ReasonUnsupportedLanguage Reason = "unsupported_language"
	ReasonTypeScript          Reason = "typescript_transform_failed"
	ReasonModuleAccess        Reason = "module_access_denied"
	ReasonSyntax              Reason = "syntax_error"
	ReasonShell               Reason = "shell_command"
	ReasonRunUnavailable      Reason = "run_unavailable"
	ReasonRunExpired          Reason = "run_expired"
	ReasonRunBusy             Reason = "run_busy"
	ReasonWrongSession        Reason = "wrong_session"
	ReasonWrongRun            Reason = "wrong_run"
	ReasonTooManySuspended    Reason = "too_many_suspended_runs"
	ReasonTooManyPending      Reason = "too_many_pending_tool_calls"
	ReasonRestoreFailed       Reason = "snapshot_restore_failed"
	ReasonStoreFailed         Reason = "store_failed"
	ReasonToolsMissing        Reason = "tools_missing" // the run is kept: another host can continue it
	ReasonNestedTool          Reason = "nested_tool_failed"
	ReasonGuestException      Reason = "guest_exception"
	ReasonSandboxViolation    Reason = "sandbox_violation"
	ReasonWorkerCrashed       Reason = "worker_crashed"
	ReasonEngineUnavailable   Reason = "engine_unavailable" // the run is kept: a host that has its engine can continue it
	ReasonQuota               Reason = "quota_exceeded"     // of the session, its agent or the host
	ReasonReplayDiverged      Reason = "replay_diverged"    // the run is kept: a host that has its build of the guest can continue it
)

// The reasons of waiting results.
const (
	ReasonPendingTools Reason = "pending_tools"
	ReasonTimer        Reason = "timer" // the program waits only for its own timers
	ReasonYield        Reason = "yield"
	ReasonApproval     Reason = "approval" // a person has to decide about a call
)

// Phase says where a failure comes from.
type Phase string

// The phases of a failed Result.
const (
	PhaseInput  Phase = "input"  // the caller's mistake: nothing ran
	PhaseGuest  Phase = "guest"  // the program's mistake
	PhaseBridge Phase = "bridge" // between the program and its tools
	PhaseHost   Phase = "host"   // the host's mistake, or the machine's
)

// Error says why a call was refused or a run failed. Message addresses the one who made
// the mistake, usually a model, and says what to send instead.
type Error struct {
	Code    Code
	Reason  Reason
	Phase   Phase
	Message string
	// Dispatched reports that the run had called a tool: repeating the cell may
	// repeat its effect.
	Dispatched bool
	// Telemetry counts what the run did. It is nil when no run is known.
	Telemetry *Telemetry
	// Err is the cause, for errors.Is and errors.As. It is not part of a Result.
	Err error
}

// Errorf returns an Error whose Message is formatted like fmt.Sprintf and cut to 8 KiB.
func Errorf(code Code, reason Reason, phase Phase, format string, args ...any) *Error {
	return &Error{Code: code, Reason: reason, Phase: phase, Message: BoundMessage(fmt.Sprintf(format, args...))}
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an *Error with the same code, and with the same reason
// if target has one.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && e.Code == t.Code && (t.Reason == "" || e.Reason == t.Reason)
}

// Result returns the failed Result that tells a model of e.
func (e *Error) Result() *Result {
	r := &Result{
		Status:     StatusFailed,
		Error:      BoundMessage(e.Message),
		Code:       e.Code,
		Reason:     e.Reason,
		Phase:      e.Phase,
		Dispatched: e.Dispatched,
		Telemetry:  NewTelemetry(),
	}
	if e.Telemetry != nil {
		r.Telemetry = *e.Telemetry
	}
	return r
}

// Failed returns the failed Result that tells a model of err. An error that is no
// *Error becomes internal_error.
func Failed(err error) *Result {
	var e *Error
	if !errors.As(err, &e) {
		e = Errorf(CodeInternal, "", PhaseHost, "%v", err)
	}
	return e.Result()
}

// Err returns an *Error for a failed Result, and nil for any other.
func (r *Result) Err() error {
	if r.Status != StatusFailed {
		return nil
	}
	return &Error{Code: r.Code, Reason: r.Reason, Phase: r.Phase, Message: r.Error, Dispatched: r.Dispatched, Telemetry: &r.Telemetry}
}

// BoundMessage cuts s to 8 KiB, the most that a Result holds of a message. It does
// not split a character.
func BoundMessage(s string) string {
	const (
		maxBytes  = 8 << 10
		truncated = " [error truncated]"
	)
	if len(s) <= maxBytes {
		return s
	}
	return text.Cut(s, maxBytes-len(truncated)) + truncated
}

// ExecUsage tells a model what to send to exec.
const ExecUsage = `Send {"code": "return 6 * 7"}: code is the program; language ("javascript" or "typescript") and title are optional.`
