package host

import (
	"context"
	"strings"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/guestrt/wire"
)

// ExecInput is what a model gives to exec.
type ExecInput struct {
	// Code is the program. Command is an alias of it for hook policies; when
	// both are given they must be equal, and a blank alias is ignored.
	Code, Command string
	// Language is "javascript" (the default) or "typescript".
	Language string
	// Title says in a few words what the program is for. It is not interpreted.
	Title string
	// Timeout shortens Settings.Timeout for this call. Zero means no change.
	Timeout time.Duration
}

// source returns the program and its language, or what is wrong with them.
func (in ExecInput) source(s Settings) (code, language string, _ *failure) {
	code = in.Code
	if strings.TrimSpace(in.Command) != "" {
		if strings.TrimSpace(code) != "" && code != in.Command {
			return "", "", failf(CodeInvalidInput, "", PhaseInput, "code and command differ. Give the program in code alone.")
		}
		code = in.Command
	}
	if strings.TrimSpace(code) == "" {
		return "", "", failf(CodeInvalidInput, "", PhaseInput, "code is empty. Give a JavaScript or TypeScript program that returns its result.")
	}
	language = in.Language
	if language == "" {
		language = languageJavaScript
	}
	if language != languageJavaScript && language != languageTypeScript {
		return "", "", failf(CodeInvalidInput, ReasonUnsupportedLanguage, PhaseInput,
			"language %q is not supported: use %q or %q.", safePrefix(language, 64), languageJavaScript, languageTypeScript)
	}
	for _, l := range s.Languages {
		if l == language {
			return code, language, nil
		}
	}
	return "", "", failf(CodeInvalidInput, ReasonUnsupportedLanguage, PhaseInput,
		"code mode %s input is disabled: use %s.", language, strings.Join(s.Languages, " or "))
}

// timeout returns the time one Exec or Wait may take.
func (h *Host) timeout(want time.Duration) time.Duration {
	if want <= 0 {
		return h.settings.Timeout
	}
	return min(max(want, timeoutSpan.duration(timeoutSpan.min)), h.settings.Timeout)
}

// Exec runs a program until it returns, fails, yields, or is still waiting for
// tools at its deadline. It always returns a Result. When ctx ends, the program
// stops and the result has the code aborted.
func (h *Host) Exec(ctx context.Context, s Session, in ExecInput) *Result {
	start := time.Now()
	code, language, f := in.source(h.settings)
	if f == nil && h.settings.Disabled {
		f = failf(CodeInvalidInput, ReasonInvalidConfig, PhaseInput, "code mode is disabled: set tools.codeMode.enabled to true.")
	}
	if f != nil {
		return h.refused(f)
	}
	r, err := h.newRun(s, language)
	if err != nil {
		return h.refused(failf(CodeInternal, "", PhaseHost, "random numbers are not available: %v", err))
	}
	r.begin(start)
	if f := h.add(r); f != nil {
		return h.refused(f)
	}
	ctx, stop := r.joined(ctx)
	defer stop()
	w, err := h.pool.Acquire(ctx, s.affinity())
	if err != nil {
		return r.failed(r.blame(ctx, err))
	}
	deadline := time.Now().Add(h.timeout(in.Timeout))
	r.goLive()
	rep, err := w.Start(ctx, r.cell(code, language), r.file, deadline)
	return r.drive(ctx, w, rep, err, deadline)
}

// goLive notes that the guest runs from here on.
func (r *run) goLive() {
	r.mu.Lock()
	r.live = true
	r.mu.Unlock()
}

// refused is the result of a call that made no run.
func (h *Host) refused(f *failure) *Result {
	return &Result{
		Status:    StatusFailed,
		Error:     boundError(f.Text),
		Code:      f.Code,
		Reason:    f.Reason,
		Phase:     f.Phase,
		Telemetry: h.baseTelemetry(h.view.Load()),
	}
}

// cell is what the worker needs to start the program.
func (r *run) cell(code, language string) wire.Cell {
	c := wire.Cell{Language: language, Source: code, Limits: r.limits()}
	for _, n := range r.view.namespaces {
		c.Namespaces = append(c.Namespaces, wire.NamespaceRef{Global: n.GlobalName, ID: n.ID})
	}
	return c
}

func (r *run) limits() wire.Limits {
	return wire.Limits{MemoryBytes: uint64(r.h.settings.MemoryLimit)}
}

// joined returns a context that ends with ctx or with the run.
func (r *run) joined(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// blame says why a step of the guest failed: because somebody ended it, or as
// the worker says.
func (r *run) blame(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		return failf(CodeAborted, "", PhaseHost, "code mode run was aborted: %v", context.Cause(ctx))
	}
	return ofWorker(err)
}

// drive runs the guest to the next result: it serves the guest's bridge calls as
// their answers arrive, with no model turn in between. It owns w.
func (r *run) drive(ctx context.Context, w *guestrt.Worker, rep *wire.Report, err error, deadline time.Time) *Result {
	defer r.h.pool.Release(w)
	r.layers = w.Layers()
	for {
		if err != nil {
			return r.failed(r.blame(ctx, err))
		}
		if f := r.absorb(rep); f != nil {
			return r.failed(f)
		}
		switch rep.Status {
		case wire.StatusFailed:
			return r.failed(ofGuest(rep.Err))
		case wire.StatusDone:
			return r.completed(rep.Value)
		}
		yielded, f := r.admit(rep.Requests)
		if f != nil {
			return r.failed(f)
		}
		if yielded {
			return r.suspend(ctx, w)
		}
		in, why := r.await(ctx, deadline)
		switch why {
		case wokeAborted:
			return r.failed(r.blame(ctx, ctx.Err()))
		case wokeDeadline:
			return r.suspend(ctx, w)
		case wokeNothing:
			return r.failed(failf(CodeInternal, ReasonGuestException, PhaseGuest, "code mode promise is pending without host work"))
		}
		rep, err = w.Turn(ctx, in, deadline)
	}
}

// absorb takes the account of one turn into the run.
func (r *run) absorb(rep *wire.Report) *failure {
	r.mu.Lock()
	r.counters.CPUMicros += rep.CPUMicros
	r.counters.PeakBytes = max(r.counters.PeakBytes, rep.HeapPeakBytes)
	r.mu.Unlock()
	r.timerDue = time.Time{}
	if rep.TimerMillis >= 0 {
		r.timerDue = time.Now().Add(time.Duration(min(rep.TimerMillis, maxTimerMillis)) * time.Millisecond)
	}
	if rep.Status == wire.StatusDone && !validJSON(rep.Value) || rep.Status == wire.StatusFailed && rep.Err == nil {
		return failf(CodeInternal, ReasonWorkerCrashed, PhaseHost, "guest worker sent a result that is not one")
	}
	if f := r.output.add(rep.Output); f != nil {
		return f
	}
	if r.output.omitted > 0 && r.h.settings.OnOutputLimit == OutputFail {
		extra := int64(0)
		if rep.Status == wire.StatusDone {
			extra = int64(len(rep.Value))
		}
		return r.output.over(extra)
	}
	return nil
}

// maxTimerMillis is the longest timer a guest can set, about 24.8 days.
const maxTimerMillis = 1<<31 - 1

// woke says why a driver stopped waiting.
type woke int

const (
	wokeSettled  woke = iota // something to deliver
	wokeTimer                // a guest timer is due
	wokeDeadline             // the time of this Exec or Wait is over
	wokeAborted              // the context or the run has ended
	wokeNothing              // nothing will ever come
)

// turnMargin is the time that must be left for another turn of the guest. With
// less, a guest that only waits for tools is suspended: a turn that its deadline
// cuts off, which for the guest comes 50 ms early, would fail it.
const turnMargin = 60 * time.Millisecond

// await blocks until there is a reason to run the guest again, or none can come.
func (r *run) await(ctx context.Context, deadline time.Time) ([]wire.Settlement, woke) {
	left := time.Until(deadline) - turnMargin
	end := time.NewTimer(left)
	defer end.Stop()
	timer, stop := r.guestTimer()
	defer stop()
	for {
		if ctx.Err() != nil {
			return nil, wokeAborted
		}
		if timer == nil && r.outstanding() == 0 {
			return nil, wokeNothing
		}
		if left <= 0 {
			return nil, wokeDeadline
		}
		if in := r.take(); len(in) > 0 {
			return in, wokeSettled
		}
		select {
		case <-r.wake:
		case <-timer:
			return nil, wokeTimer
		case <-end.C:
			return nil, wokeDeadline
		case <-ctx.Done():
		}
	}
}

func (r *run) guestTimer() (<-chan time.Time, func()) {
	if r.timerDue.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(r.timerDue))
	return t.C, func() { t.Stop() }
}

func (r *run) outstanding() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls)
}
