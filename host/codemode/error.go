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
	CodeInvalidInput  Code = "invalid_input"           // the caller has to send something else; the reason says what
	CodeUnavailable   Code = "runtime_unavailable"     // no guest worker can run the program now, or none starts; nothing has run
	CodeTimeout       Code = "timeout"                 // the program computed for longer than timeoutMs in one go, or cpuBudgetMs in all
	CodeOutputLimit   Code = "output_limit_exceeded"   // output and value are larger than maxOutputBytes
	CodeSnapshotLimit Code = "snapshot_limit_exceeded" // the guest is too large to be suspended: maxSnapshotBytes
	CodeMemoryLimit   Code = "memory_limit_exceeded"   // the heap of the guest has passed memoryLimitBytes, or what it makes the host hold its quota
	CodeAborted       Code = "aborted"                 // someone has ended the run: its caller, quoin runs abort, or the end of its session
	CodeInternal      Code = "internal_error"          // the program has thrown (reason guest_exception), or the host is at fault; metrics and events tell the two apart
)

// Reason refines a Code, or says why a Result is waiting. The list only grows.
type Reason string

// The reasons of failed results.
const (
	ReasonInvalidConfig       Reason = "invalid_config"              // the configuration or a flag is wrong
	ReasonUnsupportedLanguage Reason = "unsupported_language"        // the language is not one of tools.codeMode.languages
	ReasonTypeScript          Reason = "typescript_transform_failed" // the TypeScript cannot be turned into JavaScript
	ReasonModuleAccess        Reason = "module_access_denied"        // the program imports a module; it has no modules
	ReasonSyntax              Reason = "syntax_error"                // the program is not JavaScript
	ReasonShell               Reason = "shell_command"               // a shell command was sent in place of a program
	ReasonRunUnavailable      Reason = "run_unavailable"             // there is no such run, or it has ended and its result was fetched
	ReasonRunExpired          Reason = "run_expired"                 // no one waited for the run in time: snapshotTtlSeconds
	ReasonRunBusy             Reason = "run_busy"                    // another wait has the run
	ReasonWrongSession        Reason = "wrong_session"               // the run belongs to another session
	ReasonWrongRun            Reason = "wrong_run"                   // the run belongs to another agent turn
	ReasonTooManySuspended    Reason = "too_many_suspended_runs"     // there are maxSuspendedRuns
	ReasonTooManyPending      Reason = "too_many_pending_tool_calls" // more calls at once than maxPendingToolCalls and the queue take
	ReasonRestoreFailed       Reason = "snapshot_restore_failed"     // the suspended run cannot be restored
	ReasonStoreFailed         Reason = "store_failed"                // the state directory or the database does not work; the run is kept
	ReasonToolsMissing        Reason = "tools_missing"               // the run was suspended with tools that this host does not have; it is kept, another host can continue it
	ReasonNestedTool          Reason = "nested_tool_failed"          // a tool failed, and the program did not catch its error
	ReasonGuestException      Reason = "guest_exception"             // the program has thrown
	ReasonSandboxViolation    Reason = "sandbox_violation"           // the guest made a system call that it must not make: look at it as an attack
	ReasonWorkerCrashed       Reason = "worker_crashed"              // the process of the guest has ended
	ReasonEngineUnavailable   Reason = "engine_unavailable"          // no worker has the engine of the run, which is kept: a host that has its engine can continue it
	ReasonQuota               Reason = "quota_exceeded"              // of the session, its agent or the host: the message names it
	ReasonReplayDiverged      Reason = "replay_diverged"             // the run is kept: a host that has its build of the guest can continue it
)

// The reasons of waiting results.
const (
	ReasonPendingTools Reason = "pending_tools" // calls have no answer yet
	ReasonTimer        Reason = "timer"         // the program waits only for its own timers
	ReasonYield        Reason = "yield"         // the program has called yield_control, and continues with the next wait
	ReasonApproval     Reason = "approval"      // a person has to decide about a call, or to answer it
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

// Errorf returns an Error with a Message that is formatted like fmt.Sprintf and cut to 8 KiB.
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
