package guestrt

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/quoinhq/quoin/internal/wire"
)

// Ending says why a call did not come to a report. Code, Reason and Phase use
// the words of the result contract; Reason may be empty.
type Ending struct {
	Code, Reason, Phase, Message string

	cause error // what the system said, or nil
	final bool  // another way of starting the worker would end the same
}

// Error returns the message, which is fit for a result.
func (e *Ending) Error() string { return e.Message }

// Is reports whether target is an Ending of the same code and, if target names
// one, the same reason.
func (e *Ending) Is(target error) bool {
	t, ok := target.(*Ending)
	return ok && t.Code == e.Code && (t.Reason == "" || t.Reason == e.Reason)
}

func ending(code, reason, phase, format string, args ...any) *Ending {
	return &Ending{Code: code, Reason: reason, Phase: phase, Message: fmt.Sprintf(format, args...)}
}

func unavailable(format string, args ...any) *Ending {
	return ending(wire.CodeRuntimeUnavailable, "", wire.PhaseHost, format, args...)
}

// cannotStart explains a process that the system did not start. What stops root
// is usually a user namespace that has no other user.
func cannotStart(path string, err error) *Ending {
	e := unavailable("the guest worker %s cannot be started: %v", path, err)
	e.cause = err
	if errors.Is(err, os.ErrPermission) && os.Geteuid() == 0 {
		e.Message += " (a host that is root starts workers as user 65534: it needs CAP_SETUID and CAP_SETGID, and in a user namespace that user must be mapped)"
	}
	return e
}

func timedOut() *Ending {
	return ending(wire.CodeTimeout, "", wire.PhaseGuest, wire.TextTimeout)
}

func aborted(why string) *Ending {
	return ending(wire.CodeAborted, "", wire.PhaseHost, "code mode run was aborted: %s", why)
}

func crashed(format string, args ...any) *Ending {
	return ending(wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed, wire.PhaseHost,
		"the guest worker ended unexpectedly: "+format, args...)
}

// groupMemory is the end of a process that outgrew its control group.
func groupMemory() *Ending {
	return ending(wire.CodeMemoryLimit, "", wire.PhaseGuest,
		"code mode memory limit exceeded: the guest worker used more memory than its process may have")
}

// brokeProtocol is the cause of death of a worker that spoke nonsense.
func brokeProtocol(err error) *Ending { return crashed("it broke the protocol: %v", err) }

// faultEnding translates what a living worker could not do.
func faultEnding(f *wire.Fault) *Ending {
	phase := wire.PhaseHost
	switch f.Code {
	case wire.CodeInvalidInput:
		phase = wire.PhaseInput
	case wire.CodeSnapshotLimit, wire.CodeMemoryLimit:
		phase = wire.PhaseGuest
	}
	return ending(f.Code, f.Reason, phase, "%s", f.Message)
}

// exitEnding classifies the end of a process. cause is what this side killed it
// for, or nil; it holds only if the process did die of that kill.
func exitEnding(state *os.ProcessState, cause *Ending, lastWords string) *Ending {
	code, signal := exitStatus(state)
	switch {
	case signal == signalKill && cause != nil:
		return cause
	case signal == signalBadCall:
		return ending(wire.CodeInternal, wire.ReasonSandboxViolation, wire.PhaseHost,
			"the guest worker tried a system call its sandbox forbids and was killed")
	case code == wire.ExitMemory, code == goFatal && outOfMemory(lastWords):
		return ending(wire.CodeMemoryLimit, "", wire.PhaseGuest,
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

// outOfMemory recognises the Go runtime's fatal errors for heap and stack, which
// a program can only cause outside the guest heap: while it is parsed, or while
// its values are converted.
func outOfMemory(lastWords string) bool {
	return strings.Contains(lastWords, "out of memory") || strings.Contains(lastWords, "cannot allocate memory") ||
		strings.Contains(lastWords, "stack overflow") || strings.Contains(lastWords, "stack exceeds")
}

// goFatal is the exit code of the Go runtime's own fatal errors.
const goFatal = 2

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	const most = 300
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}
