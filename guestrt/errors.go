package guestrt

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
)

// WorkerError says why a call ended without a report. Code, Reason and Phase use
// the words of the result contract; Reason may be empty.
type WorkerError struct {
	Code, Reason, Phase, Message string

	cause  error // what the system said, or nil
	final  bool  // another way of starting the worker would end the same
	absent bool  // no setting names a worker, and no place has one
	// refused says that the worker has answered the host's Hello with a refusal.
	refused bool
}

// Error returns the message, which is fit for a result.
func (e *WorkerError) Error() string { return e.Message }

// Is reports whether target is an WorkerError of the same code and, if target names
// one, the same reason.
func (e *WorkerError) Is(target error) bool {
	t, ok := target.(*WorkerError)
	return ok && t.Code == e.Code && (t.Reason == "" || t.Reason == e.Reason)
}

// ErrNoWorker is matched by the error of a search that found no worker in any place,
// while no setting names one.
var ErrNoWorker = errors.New("there is no guest worker")

// Unwrap returns ErrNoWorker for an error that says so.
func (e *WorkerError) Unwrap() error {
	if e.absent {
		return ErrNoWorker
	}
	return nil
}

func workerError(code, reason, phase, format string, args ...any) *WorkerError {
	return &WorkerError{Code: code, Reason: reason, Phase: phase, Message: fmt.Sprintf(format, args...)}
}

func unavailable(format string, args ...any) *WorkerError {
	return workerError(wire.CodeRuntimeUnavailable, "", wire.PhaseHost, format, args...)
}

// startFailed explains a process that the system did not start. What stops root
// is usually a user namespace that has no other user.
func startFailed(path string, err error) *WorkerError {
	e := unavailable("the guest worker %s cannot be started: %v", path, err)
	e.cause = err
	if errors.Is(err, os.ErrPermission) && os.Geteuid() == 0 {
		e.Message += " (a host that is root starts workers as user 65534: it needs CAP_SETUID and CAP_SETGID, and in a user namespace that user must be mapped)"
	}
	return e
}

func timedOut() *WorkerError {
	return workerError(wire.CodeTimeout, "", wire.PhaseGuest, wire.TextTimeout)
}

func aborted(why string) *WorkerError {
	return workerError(wire.CodeAborted, "", wire.PhaseHost, "code mode run was aborted: %s", why)
}

func crashed(format string, args ...any) *WorkerError {
	return workerError(wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed, wire.PhaseHost,
		"the guest worker ended unexpectedly: "+format, args...)
}

// groupOutOfMemory is the end of a process that outgrew its control group.
func groupOutOfMemory() *WorkerError {
	return workerError(wire.CodeMemoryLimit, "", wire.PhaseGuest,
		"code mode memory limit exceeded: the guest worker used more memory than its process may have")
}

// protocolViolation is the cause of death of a worker that spoke nonsense.
func protocolViolation(err error) *WorkerError { return crashed("it broke the protocol: %v", err) }

// faultError translates what a living worker could not do.
func faultError(f *wire.Fault) *WorkerError {
	phase := wire.PhaseHost
	switch f.Code {
	case wire.CodeInvalidInput:
		phase = wire.PhaseInput
	case wire.CodeSnapshotLimit, wire.CodeMemoryLimit:
		phase = wire.PhaseGuest
	}
	return workerError(f.Code, f.Reason, phase, "%s", f.Message)
}

// exitError classifies the end of a process. cause is what this side killed it
// for, or nil; it holds only if the process did die of that kill.
func exitError(state *os.ProcessState, cause *WorkerError, lastWords string) *WorkerError {
	code, signal := exitStatus(state)
	switch {
	case signal == signalKill && cause != nil:
		return cause
	case signal == signalBadCall:
		return workerError(wire.CodeInternal, wire.ReasonSandboxViolation, wire.PhaseHost,
			"the guest worker tried a system call its sandbox forbids and was killed")
	case code == wire.ExitMemory, code == goFatal && outOfMemory(lastWords):
		return workerError(wire.CodeMemoryLimit, "", wire.PhaseGuest,
			"code mode memory limit exceeded: the program is too large or too deeply nested for the guest worker")
	case signal != 0:
		return crashed("it was killed by signal %d", signal)
	case code == wire.ExitPanic:
		return crashed("a bug in the worker: %s", firstLine(lastWords))
	case code == wire.ExitSeal:
		return unavailable("the guest worker could not be sealed: %s", firstLine(lastWords))
	case cause != nil:
		return cause
	default:
		return crashed("it exited with code %d", code)
	}
}

// outOfMemory recognises the Go runtime's fatal errors for heap and stack, also the errors
// for a thread that it needs. A program can only cause them outside the guest heap: while
// it is parsed, or while its values are converted.
func outOfMemory(lastWords string) bool {
	return slices.ContainsFunc([]string{
		"out of memory", "cannot allocate memory", "stack overflow", "stack exceeds",
		"newosproc", "pthread_create failed",
	}, func(text string) bool { return strings.Contains(lastWords, text) })
}

// goFatal is the exit code of the Go runtime's own fatal errors.
const goFatal = 2

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	const most = 300
	if len(line) > most {
		line = text.Cut(line, most) + "..."
	}
	return line
}

var errReleased = workerError(wire.CodeInternal, "", wire.PhaseHost, "the guest worker was already released")

var errClosed = aborted("the guest pool is closed")

var errUnneeded = aborted("the guest worker is no longer needed")

// The ends of workers that cannot wait for their session.
var (
	errGrown   = aborted("the guest worker has grown too large to be used again")
	errRunaway = aborted("the guest worker used processor time without a guest")
)

type unexpectedReplyError struct{ got wire.Type }

func (e *unexpectedReplyError) Error() string {
	return fmt.Sprintf("a %v answers something else", e.got)
}

// cpuClaimError is a report of more processor time than there was.
type cpuClaimError struct {
	micros uint64
	wall   time.Duration
}

func (e *cpuClaimError) Error() string {
	return fmt.Sprintf("%d microseconds of processor time in %v", e.micros, e.wall)
}
