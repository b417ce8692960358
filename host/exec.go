package host

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
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
	// Tools are the caller's own, for this run alone; Source is left out and Owner
	// defaults to "client". Calls of a tool with Invoke are answered by it, as long
	// as this process lives. Calls of a tool without Invoke are answered by Answer:
	// once the program waits for nothing else, the run is waiting, with these calls
	// and their inputs in PendingToolCalls.
	Tools []catalog.Tool
	// Rules narrow what the run reaches beyond Config.Rules, its own Tools included.
	Rules policy.Rules
	// Timeout shortens Settings.Timeout for this call. Zero means no change.
	Timeout time.Duration

	turn *clientTools // of the Surface that the call came through
}

// program returns the program, which may stand in either of two fields.
func (in ExecInput) program() (code string, _ *failure) {
	code = in.Code
	if strings.TrimSpace(in.Command) != "" {
		if strings.TrimSpace(code) != "" && code != in.Command {
			return "", failf(CodeInvalidInput, "", PhaseInput, "code and command differ. Give the program in code alone.")
		}
		code = in.Command
	}
	if strings.TrimSpace(code) == "" {
		return "", failf(CodeInvalidInput, "", PhaseInput, "code is missing or empty. %s", codemode.ExecUsage)
	}
	if !utf8.ValidString(code) {
		return "", failf(CodeInvalidInput, "", PhaseInput, "code is not UTF-8 text. Give the program as UTF-8.")
	}
	return code, nil
}

// source returns the program and its language, or what is wrong with them.
func (in ExecInput) source(s Settings) (code, language string, _ *failure) {
	code, f := in.program()
	if f != nil {
		return "", "", f
	}
	language = in.Language
	if language == "" {
		language = codemode.LanguageJavaScript
	}
	if language != codemode.LanguageJavaScript && language != codemode.LanguageTypeScript {
		return "", "", failf(CodeInvalidInput, ReasonUnsupportedLanguage, PhaseInput,
			"language %q is not supported: use %q or %q.", text.Cut(language, 64), codemode.LanguageJavaScript, codemode.LanguageTypeScript)
	}
	for _, l := range s.Languages {
		if l == language {
			return code, language, nil
		}
	}
	return "", "", failf(CodeInvalidInput, ReasonUnsupportedLanguage, PhaseInput,
		"code mode %s input is disabled: use %s.", language, strings.Join(s.Languages, " or "))
}

// Exec is Host.Exec.
func (e *engine) Exec(ctx context.Context, s Session, in ExecInput) *Result {
	a := e.obs.Enter(ctx, toolExec, s)
	return a.End(e.exec(ctx, a, s, in))
}

func (e *engine) exec(ctx context.Context, a *observe.Entry, s Session, in ExecInput) (res *Result) {
	defer e.containRefusal(&res)
	settings := e.settingsOf(s)
	code, language, f := in.source(settings)
	if f == nil && settings.Disabled {
		f = failf(CodeInvalidInput, ReasonInvalidConfig, PhaseInput, "code mode is disabled: set tools.codeMode.enabled to true.")
	}
	var to *access
	if f == nil {
		to, f = e.views.accessFor(s, in)
	}
	if f == nil {
		f = e.enter()
	}
	if f != nil {
		return refused(f)
	}
	defer e.driving.leave()
	r, err := e.newRun(s, language, to)
	if err != nil {
		return refused(failf(CodeInternal, "", PhaseHost, "random numbers are not available: %v", err))
	}
	r.begin(a.Start)
	if f := e.add(r); f != nil {
		return refused(f)
	}
	return r.start(a.Drive(ctx, r.observed), in, program{Code: code, Language: language, Title: in.Title})
}

// start runs the program to its first result.
func (r *run) start(ctx context.Context, in ExecInput, asked program) (res *Result) {
	defer r.contain(&res)
	ctx, stop := r.joined(ctx)
	defer stop()
	timeout := r.settings.CallTimeout(in.Timeout)
	p, f := r.judge(ctx, asked)
	in.Title = p.Title
	r.setLanguage(p.Language)
	r.observed.Started(p.Code, r.language, in.Title, p.Code != asked.Code, r.driver.started)
	if f != nil {
		return r.driver.failed(f)
	}
	r.driver.limit(ctx, time.Now().Add(timeout))
	if r.driver.held != nil {
		return r.driver.goOn()
	}
	return r.driver.first(p, timeout)
}

func (r *run) setLanguage(language string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.language = language
}

// first starts the program in a worker and drives it.
func (d *driver) first(p program, timeout time.Duration) (res *Result) {
	defer d.contain(&res)
	if err := d.lease(); err != nil {
		return d.failed(d.failureFrom(err))
	}
	// The time a cell waits for a worker is not the cell's.
	d.setDeadline(time.Now().Add(timeout))
	return d.drive(d.worker.Start(d.ctx, d.run.cell(p.Code, p.Language), d.run.file, d.turnDeadline()))
}

// refused is the result of a call that made no run.
func refused(f *failure) *Result { return f.Result() }

// cell is what the worker needs to start the program.
func (r *run) cell(code, language string) wire.Cell {
	c := wire.Cell{Language: language, Source: code, Limits: r.limits()}
	for _, n := range r.view().namespaces {
		c.Namespaces = append(c.Namespaces, wire.NamespaceRef{Global: n.GlobalName, ID: n.ID})
	}
	return c
}

func (r *run) limits() wire.Limits {
	// Items are counted against MaxOutput here, to the byte; the guest must not
	// drop any before.
	return wire.Limits{MemoryBytes: uint64(r.settings.MemoryLimit), MaxOutputItems: wire.MaxOutputItems}
}

// joined returns a context that ends with ctx or with the run.
func (r *run) joined(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}
