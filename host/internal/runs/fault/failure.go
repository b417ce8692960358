package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// Add returns a copy of f with a sentence added.
func Add(f *codemode.Error, format string, args ...any) *codemode.Error {
	more := *f
	more.Message += fmt.Sprintf(format, args...)
	return &more
}

// MayResume says whether caller owns a run that belongs to owner.
func MayResume(owner, caller codemode.Session) *codemode.Error {
	switch {
	case !caller.Owns(owner):
		return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonWrongSession, codemode.PhaseInput, "code mode run belongs to a different session.")
	case caller.TurnID != owner.TurnID:
		return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonWrongRun, codemode.PhaseInput, "code mode run belongs to a different agent run.")
	}
	return nil
}

// parsedValue is what JSON.parse says of an object, because the text of an object is
// "[object Object]".
const parsedValue = "SyntaxError: unexpected token: 'object'"

// FromGuest translates what the worker said of a failed program. The worker is
// not trusted: words outside the contract become internal_error.
func FromGuest(e *wire.GuestError) *codemode.Error {
	text := e.Message
	if e.Name != "" {
		text = e.Name + ": " + e.Message
	}
	if text == parsedValue {
		text += ": what a call returns is a value, and is not JSON text: use it without JSON.parse"
	}
	if e.Stack != "" {
		text += "\n" + e.Stack
	}
	f := &codemode.Error{Code: codemode.Code(e.Code), Reason: codemode.Reason(e.Reason), Phase: codemode.Phase(e.Phase), Message: text}
	switch f.Code {
	case codemode.CodeInvalidInput, codemode.CodeTimeout, codemode.CodeMemoryLimit, codemode.CodeInternal, codemode.CodeOutputLimit:
	default:
		f.Code = codemode.CodeInternal
	}
	switch f.Reason {
	case "", codemode.ReasonGuestException, codemode.ReasonSyntax, codemode.ReasonShell, codemode.ReasonModuleAccess, codemode.ReasonTypeScript, codemode.ReasonUnsupportedLanguage, codemode.ReasonNestedTool:
	default:
		f.Reason = ""
	}
	switch f.Phase {
	case codemode.PhaseInput, codemode.PhaseGuest, codemode.PhaseBridge:
	default:
		f.Phase = codemode.PhaseGuest
	}
	return f
}

// FromWorker translates the end of a worker.
func FromWorker(err error) *codemode.Error {
	var e *guestrt.WorkerError
	if !errors.As(err, &e) {
		return codemode.Errorf(codemode.CodeInternal, "", codemode.PhaseHost, "guest worker: %v", err)
	}
	f := &codemode.Error{Code: codemode.Code(e.Code), Reason: codemode.Reason(e.Reason), Phase: codemode.Phase(e.Phase), Message: e.Message}
	if f.Phase == "" {
		f.Phase = codemode.PhaseHost
	}
	return f
}

// FromStore translates why a suspended run cannot be had.
func FromStore(err error) *codemode.Error {
	var own *codemode.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, runstore.ErrEnded):
		f := FromStore(runstore.ErrNotFound)
		f.Err = err // the store has the result of the run
		return f
	case errors.Is(err, runstore.ErrNotFound):
		return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput, "code mode run is unavailable or expired.")
	case errors.Is(err, runstore.ErrExpired):
		return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRunExpired, codemode.PhaseInput, "code mode run is unavailable or expired.")
	case errors.Is(err, runstore.ErrClaimed):
		f := AlreadyDriven()
		f.Err = err // another host has the run
		return f
	case errors.Is(err, runstore.ErrFenced):
		f := codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput, "code mode run goes on in another host now: wait for it again.")
		f.Err = err
		return f
	case errors.Is(err, runstore.ErrUnavailable): // its text names hosts and users of the database
		f := codemode.Errorf(codemode.CodeUnavailable, codemode.ReasonStoreFailed, codemode.PhaseHost, "the store of suspended runs does not answer, or takes no writes: no run can be suspended or taken up now. Try again later: the host goes on by itself once the store works. Programs that end without waiting still run.")
		f.Err = err
		return f
	case errors.Is(err, runstore.ErrFull):
		return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonTooManySuspended, codemode.PhaseHost, "too many suspended code mode runs.")
	case errors.Is(err, runstore.ErrTooLarge):
		return codemode.Errorf(codemode.CodeSnapshotLimit, "", codemode.PhaseHost, "code mode run cannot be suspended: its guest and the calls that it waits for are too large together (%s).", WithoutPaths(err))
	case errors.Is(err, runstore.ErrCorrupt), errors.Is(err, runstore.ErrFormat):
		return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRestoreFailed, codemode.PhaseHost, "code mode run cannot be restored: %s", WithoutPaths(err))
	default:
		return codemode.Errorf(codemode.CodeUnavailable, codemode.ReasonStoreFailed, codemode.PhaseHost, "the store of suspended runs failed: %s.", WithoutPaths(err))
	}
}

// AlreadyDriven refuses a run that another caller of this host drives.
func AlreadyDriven() *codemode.Error {
	return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput, "code mode run is already being resumed.")
}

// MayBeWritten reports whether a write that has failed may have been made, or may be made
// later, by another host that has an older state of the run.
func MayBeWritten(err error) bool {
	return err != nil && !errors.Is(err, runstore.ErrTooLarge) && !errors.Is(err, runstore.ErrNotFound)
}

// WithoutPaths is the text of an error without the names of the host's files,
// which are nothing for a model or a program.
func WithoutPaths(err error) string {
	text := err.Error()
	var p *fs.PathError
	if errors.As(err, &p) {
		text = strings.ReplaceAll(text, p.Error(), p.Op+": "+p.Err.Error())
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		text = strings.ReplaceAll(text, l.Error(), l.Op+": "+l.Err.Error())
	}
	return text
}

// ErrClosing is why a host that shuts down gives no run a worker.
var ErrClosing = errors.New("the host shuts down")

// Closing is what a host answers once it shuts down.
func Closing() *codemode.Error {
	return codemode.Errorf(codemode.CodeUnavailable, "", codemode.PhaseHost, "code mode is shutting down.")
}

// TooLarge reports whether a guest could not be taken out because its image would
// be larger than Settings.MaxSnapshot, or than there is room for.
func TooLarge(err error) bool {
	var (
		e *guestrt.WorkerError
		f *codemode.Error
	)
	return errors.As(err, &e) && codemode.Code(e.Code) == codemode.CodeSnapshotLimit || errors.As(err, &f) && f.Reason == codemode.ReasonQuota
}

// TimeLayout is how messages write a time.
const TimeLayout = "2006-01-02 15:04:05 UTC"

// KeptAsItWas is said of a run that a store that fails still has.
const KeptAsItWas = " The run is kept as it was: wait for it again once the store works."

// FromCause says what a run that ended with a cause has failed of.
func FromCause(cause error) *codemode.Error {
	var f *codemode.Error
	switch {
	case cause == nil:
		return nil
	case errors.As(cause, &f):
		return f
	case errors.Is(cause, codemode.ErrAborted), errors.Is(cause, codemode.ErrSessionEnded), errors.Is(cause, codemode.ErrClosed), errors.Is(cause, context.Canceled):
		return codemode.Errorf(codemode.CodeAborted, "", codemode.PhaseHost, "%v", cause)
	default:
		return FromStore(cause)
	}
}

// Ended is what a wait for a run is told that has ended for that cause.
func Ended(cause error) *codemode.Error {
	f := FromStore(runstore.ErrNotFound)
	switch {
	case errors.Is(cause, runstore.ErrExpired):
		return FromStore(cause)
	case errors.Is(cause, codemode.ErrAborted):
		return Add(f, " It was aborted; there is nothing to wait for any more.")
	case errors.Is(cause, codemode.ErrSessionEnded):
		return Add(f, " It ended with its session; there is nothing to wait for any more.")
	}
	return Add(f, " It has ended, and its last result was the final one; there is nothing to wait for any more.")
}

// NotRestored returns the failure that says why a suspended run cannot continue.
func NotRestored(format string, args ...any) *codemode.Error {
	return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRestoreFailed, codemode.PhaseHost, "code mode run cannot be restored: "+format, args...)
}
