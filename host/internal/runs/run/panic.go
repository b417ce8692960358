package run

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/quoinhq/quoin/host/codemode"
)

// A panic on behalf of one run, be it a mistake of ours, of the embedder's store, or
// what a worker that was taken over has provoked, ends that run alone. It is
// recovered where the goroutine that serves the run starts: see contain.

// ReportPanic is Host.ReportPanic.
func (e *Env) ReportPanic(during string, recovered any, args ...any) {
	e.Observer.Metrics.Panicked(during)
	e.Logger.Error("a panic was recovered from", append([]any{"during", during, "panic", fmt.Sprint(recovered), "at", panicPlace(), "stack", string(debug.Stack())}, args...)...)
}

// panicPlace is the function, file and line that panicked, for what a deferred function
// calls that has recovered: the first frame above the panic that is not the runtime's.
func panicPlace() string {
	pc := make([]uintptr, 64)
	frames := runtime.CallersFrames(pc[:runtime.Callers(1, pc)])
	for panicking := false; ; {
		f, more := frames.Next()
		own := strings.HasPrefix(f.Function, "runtime.")
		if panicking && !own {
			return fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line)
		}
		panicking = panicking || own
		if !more {
			return ""
		}
	}
}

// What a panic may happen during.
const (
	DuringRun        = "run"
	DuringCall       = "call"
	DuringTool       = "tool" // of the embedder: the call alone rejects
	DuringBackground = "background"
	DuringObserver   = "observer"
)

func Panicked() *codemode.Error {
	return codemode.Errorf(codemode.CodeInternal, "", codemode.PhaseHost, "the host failed while it served this run, and has ended it. Its log has the cause.")
}

// Guard runs a step of a goroutine that serves no run.
func (e *Env) Guard(step func()) {
	defer func() {
		if p := recover(); p != nil {
			e.ReportPanic(DuringBackground, p)
		}
	}()
	step()
}
