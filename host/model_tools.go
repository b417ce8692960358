package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
)

// ModelToolsOptions say more about the model request that a ModelTools is for. The zero
// value is a request to an unnamed model that may have tools.
type ModelToolsOptions struct {
	// Model is the id of the model, for Settings.Models.
	Model string
	// Window is the context window of the model in tokens, for models that are set to
	// ActivationAuto. Zero means Settings.ContextWindow.
	Window int64
	// DisableTools says that the request is meant to have no tools: nothing is
	// hidden and nothing is added.
	DisableTools bool
	// Rules narrow what the request's runs reach, beyond Config.Rules. An Allow that
	// is empty but not nil leaves no tool, so that it is like DisableTools.
	Rules policy.Rules
}

// ModelTools is what a model is shown in one request, and the way from there into
// code mode. Make one for each request, of the tools that the request would have
// without code mode:
//
//	turn, err := h.ModelTools(ctx, session, tools, host.ModelToolsOptions{Model: model})
//	if err != nil {
//		return err // never send the tools instead
//	}
//	request.Tools, err = modeltools.Render(modeltools.ProviderAnthropic, turn.Visible)
//	…
//	if err := turn.VerifyPayload(request.ToolNames()); err != nil {
//		return err
//	}
//
// Then call the Invoke of the visible tool that the model names, as without code mode; the
// Invoke of exec and wait takes the model's arguments and returns what to show the model, as
// modeltools.RenderResult writes it. Exec and Wait take arguments that have been read and
// return the full Result.
//
// When code mode is active, Visible is exec, wait and the direct-only tools; all
// others can be called by programs. When it is not, Visible is the tools that were passed in.
// It is active if the settings of the session's agent enable it for the model, and the request
// is to have tools and has some, host tools included.
//
// A ModelTools is safe for concurrent use and needs no closing. A run that it started
// keeps its tools; a run that an earlier process left behind gets the tools of the ModelTools
// that resumes it.
type ModelTools struct {
	// Active reports whether the model is shown exec and wait in place of its tools.
	Active bool
	// Visible are the tools to show to the model.
	Visible []catalog.Tool

	host    *Host
	session Session
	rules   policy.Rules
	tools   *view.ClientTools
}

// ModelTools prepares a model request. If two tools have one id, the request's tool counts and
// the tool of Config.Tools does not. Tools of the source quoin belong to the owner core, or to
// one that Config.Tools or Config.Namespaces names.
//
// The error is an *Error: runtime_unavailable if programs cannot run now, and
// invalid_input if the tools or rules cannot be used as they are. In either case
// the request must not be sent with the tools it would have had.
func (h *Host) ModelTools(ctx context.Context, s Session, tools []catalog.Tool, o ModelToolsOptions) (*ModelTools, error) {
	if h == nil || h.engine.IsClosing() {
		return nil, codemode.Errorf(codemode.CodeUnavailable, "", codemode.PhaseHost, "code mode is not running.")
	}
	settings := h.views.settingsOf(s)
	unchanged := &ModelTools{Visible: tools, host: h, session: s}
	if settings.Disabled || o.DisableTools || o.Rules.Allow != nil && len(o.Rules.Allow) == 0 {
		return unchanged, nil
	}
	moved, direct, f := h.views.split(s, tools, o.Rules)
	if f != nil {
		return nil, f
	}
	client, f := h.views.requestTools(moved)
	if f != nil {
		return nil, f
	}
	to, f := view.NewAccess(h.views.view.Load(), h.views.policy, s, o.Rules, client)
	if f != nil {
		return nil, f
	}
	v := to.View.Load()
	exec, wait := modeltools.Definitions(h.views.offerOf(s, v, to.Layers), settings)
	cost := promptTokens(v, exec, wait)
	cost.Window = o.Window
	for i := range direct {
		cost.Tools += modeltools.EstimateTokens(&direct[i])
		cost.CodeMode += modeltools.EstimateTokens(&direct[i])
	}
	active := settings.ActiveFor(o.Model, cost)
	h.obs.Debug.Decision("surface", "active", active, "model", o.Model, "agent", s.AgentID, "tools", v.Catalog.Len()+len(direct), "tokens", cost.Tools, "instead", cost.CodeMode)
	if !active {
		return unchanged, nil
	}
	if f := ready(ctx, h.engine.Pool); f != nil {
		return nil, f
	}
	turn := &ModelTools{Active: true, host: h, session: s, rules: o.Rules, tools: client}
	turn.Visible = append(turn.own(exec, wait), direct...)
	client.Turn.Visible = turn.Names()
	if f := distinct(client.Turn.Visible); f != nil {
		return nil, f
	}
	return turn, nil
}

// split separates the tools that programs can call from the tools that the model is to call
// itself: direct-only tools of the request and of Config.Tools, unless the rules take them
// away. Control tools are in neither list.
func (vs *views) split(s Session, tools []catalog.Tool, rules policy.Rules) (moved, direct []catalog.Tool, _ *Error) {
	layer, err := rules.Compile()
	if err != nil {
		return nil, nil, view.RequestFailure("the rules of the request are not usable: %v", err)
	}
	layers := vs.layersOf(s).With(layer)
	have := map[string]bool{}
	for _, t := range slices.Concat(tools, directOnly(vs.cfg.Tools)) {
		t = t.WithDefaults()
		switch {
		case catalog.IsControl(t.Name):
		case !t.DirectOnly:
			moved = append(moved, t)
		case !have[t.ID()] && layers.Allows(view.Subject(&t)):
			have[t.ID()] = true
			direct = append(direct, t)
		}
	}
	return moved, direct, nil
}

// directOnly returns the tools that only the model itself may call.
func directOnly(tools []catalog.Tool) []catalog.Tool {
	var out []catalog.Tool
	for _, t := range tools {
		if t.DirectOnly {
			out = append(out, t)
		}
	}
	return out
}

// ready proves that a program could run now: that some worker is there.
func ready(ctx context.Context, pool guests.Pool) *Error {
	w, err := pool.Acquire(ctx, "", wire.Limits{})
	defer pool.Release(w)
	if ctx.Err() != nil {
		return codemode.Errorf(codemode.CodeAborted, "", codemode.PhaseHost, "the request was cancelled: %v", context.Cause(ctx))
	}
	if err != nil {
		f := fault.FromWorker(err)
		f.Code = codemode.CodeUnavailable // whatever became of the worker
		return f
	}
	return nil
}

// distinct refuses tools that the model could not tell apart.
func distinct(names []string) *Error {
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			return view.RequestFailure("two tools that the model would see are named %s; rename the direct-only one", quoted(n))
		}
		seen[n] = true
	}
	return nil
}

// own are exec and wait as tools that can be called.
func (t *ModelTools) own(exec, wait catalog.Tool) []catalog.Tool {
	exec.Invoke = func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
		in, err := ParseExec(c.Input)
		if err != nil {
			return t.host.RenderResult(ctx, t.session, codemode.Failed(err))
		}
		return t.host.RenderResult(ctx, t.session, t.Exec(ctx, in))
	}
	wait.Invoke = func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
		id, err := ParseWait(c.Input)
		if err != nil {
			return t.host.RenderResult(ctx, t.session, codemode.Failed(err))
		}
		return t.host.RenderResult(ctx, t.session, t.Wait(ctx, id))
	}
	return []catalog.Tool{exec, wait}
}

// RenderResult writes a result of the session as a model is to be shown it: what
// modeltools.RenderResult writes, with what people are asked about the run. It fails
// only if the store of approvals does.
func (h *Host) RenderResult(ctx context.Context, s Session, r *Result) (json.RawMessage, error) {
	if r.Status != StatusWaiting || r.Reason != codemode.ReasonApproval {
		return modeltools.RenderResult(r, nil)
	}
	pending, err := h.Approvals().List(ctx, policy.Filter{Session: &s, RunID: r.RunID})
	if err != nil {
		return nil, err
	}
	return modeltools.RenderResult(r, askedOf(pending))
}

// askedOf says what people are asked, in a sentence each.
func askedOf(pending []*policy.Approval) []string {
	const (
		most     = 5
		mostText = 300 // bytes of one text of a stranger
	)
	told := func(s string) string { return terminal.Line(text.Shorten(s, mostText)) }
	var out []string
	for _, a := range pending[:min(len(pending), most)] {
		if len(a.Questions) == 0 {
			out = append(out, "A person has to decide about a call of "+told(a.ToolID)+" ("+told(a.Title)+").")
		}
		for _, q := range a.Questions {
			out = append(out, told(q.From)+" asks a person: "+told(q.Message)+".")
		}
	}
	if more := len(pending) - most; more > 0 {
		out = append(out, fmt.Sprintf("%d more.", more))
	}
	return out
}

// Exec is Host.Exec of a program that can call the tools of the request. Tools and
// Rules of the input must be empty: the request has them.
func (t *ModelTools) Exec(ctx context.Context, in ExecInput) *Result {
	if f := t.checkActive(); f != nil {
		return f.Result()
	}
	if len(in.Tools) > 0 || !in.Rules.Empty() {
		return view.RequestFailure("tools and rules are given to ModelTools, not to its Exec.").Result()
	}
	in.request, in.Rules = t.tools, t.rules
	return t.host.Exec(ctx, t.session, in)
}

// Wait is Host.Wait of a run of the same session.
func (t *ModelTools) Wait(ctx context.Context, runID string) *Result {
	if f := t.checkActive(); f != nil {
		return f.Result()
	}
	a := t.host.obs.Enter(ctx, runs.ToolWait, t.session)
	return a.End(t.host.engine.WaitThrough(ctx, a, t.session, runID, 0, t.tools, nil))
}

// checkActive refuses a call of a tool that the model was not shown.
func (t *ModelTools) checkActive() *Error {
	if t.Active {
		return nil
	}
	return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput, "code mode is not active in this request.")
}

// Names returns the names of the visible tools.
func (t *ModelTools) Names() []string {
	names := make([]string, len(t.Visible))
	for i := range t.Visible {
		names[i] = t.Visible[i].Name
	}
	return names
}

// VerifyPayload compares the tools of the request as it is about to be sent with
// the visible ones. When code mode is active and they are not exactly the same, in
// whatever order, it fails with an *Error of internal_error, and the request must
// not be sent: something between ModelTools and the provider has shown tools to the
// model, or hidden exec and wait from it. When code mode is not active, any tools
// will do.
//
// With QUOIN_DEBUG_MODEL_PAYLOAD=tools the names are logged.
func (t *ModelTools) VerifyPayload(names []string) error { return t.verify(names, nil) }

// VerifyRequest is VerifyPayload of the body of a request to a provider, a JSON
// object. A body that cannot be read fails, too. With
// QUOIN_DEBUG_MODEL_PAYLOAD=full-redacted it is logged, redacted and capped.
func (t *ModelTools) VerifyRequest(p modeltools.Provider, body []byte) error {
	names, err := modeltools.RequestTools(p, body)
	if err != nil {
		return codemode.Errorf(codemode.CodeInternal, "", codemode.PhaseHost, "the request to the model cannot be checked: %v", err)
	}
	return t.verify(names, body)
}

func (t *ModelTools) verify(names []string, body []byte) error {
	t.host.obs.Debug.Payload(names, body)
	if !t.Active {
		return nil
	}
	want, got := slices.Sorted(slices.Values(t.Names())), slices.Sorted(slices.Values(names))
	if slices.Equal(want, got) {
		return nil
	}
	return codemode.Errorf(codemode.CodeInternal, "", codemode.PhaseHost, "code mode is active, but the request to the model has the tools %s, expected %s. It must not be sent.",
		list(got), list(want))
}

// list shows names in a message, the first few of many.
func list(names []string) string {
	const most = 10
	shown := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		shown = append(shown, quoted(n))
	}
	if len(names) > most {
		shown = append(shown, "…")
	}
	if len(shown) == 0 {
		return "(none)"
	}
	return strings.Join(shown, ", ")
}
