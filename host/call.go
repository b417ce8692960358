package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// maxReplyBytes bounds what a tool may hand to the guest in one reply. A larger
// reply rejects; it is never cut silently.
const maxReplyBytes = 8 << 20

// callError rejects a bridge call in the guest.
type callError struct {
	wire.CallError
	unknown bool // the tool may have taken effect
}

func (e *callError) Error() string { return e.Message }

func rejectf(code, format string, args ...any) *callError {
	return &callError{CallError: wire.CallError{Message: fmt.Sprintf(format, args...), Code: code}}
}

// Codes of rejections that the host itself makes.
const (
	codeNestedTool       = "tool_error"
	codeReplyTooLarge    = "reply_too_large"
	codeInvalidReply     = "invalid_reply"
	codeUnknownNamespace = "unknown_namespace"
	codeNotCallable      = "not_callable"
	codeInterrupted      = "interrupted"
	codeAborted          = "aborted"
	codePanic            = "tool_panic"
	codeQuota            = "quota_exceeded"
)

// effectUnknown marks a call that may or may not have taken effect.
const effectUnknown = "unknown"

// perform runs one tool call to its settlement. It runs on its own goroutine,
// with a slot of the run taken.
func (r *run) perform(c *call) {
	defer r.h.calls.leave()
	defer r.containCall(c)
	if c.Method == methodExec {
		r.performHeld(c)
		return
	}
	ev := r.tell(c)
	ctx, done := r.calls.begin(r.ctx, c)
	defer done()
	value, err := r.guarded(ctx, c, ev)
	if r.leaves(c, err) {
		ev.park()
	} else {
		ev.end(value, err)
	}
	r.settle(c, value, err)
	r.checkDeclared(ev.reply)
}

// leaves reports whether a call has not ended but its host does: it waits for a
// person or for the run's client, and another host goes on with that.
func (r *run) leaves(c *call, err *callError) bool {
	if err == nil || err.Code != codeAborted || r.record.volatile {
		return false
	}
	if s := r.now(); s != stateLeaving && s != stateLeft {
		return false
	}
	r.calls.mu.Lock()
	defer r.calls.mu.Unlock()
	return c.State == runstore.CallApproval || c.State == runstore.CallAsked
}

// settle records the outcome of a tool call, frees its slot and wakes the driver.
func (r *run) settle(c *call, value json.RawMessage, err *callError) {
	started, lost := r.record.settle(r.background(), c, value, err)
	r.dropIdleClaim()
	r.notify()
	r.launch(started, lost)
}

// launch performs calls that have a slot, unless the store could not be told of
// them: a run that is found after a crash must not take a call for one never made.
func (r *run) launch(started []*call, lost error) {
	for _, c := range started {
		if lost != nil {
			go r.rejectUnrecorded(c, lost)
			continue
		}
		r.h.callWorkers.perform(callJob{r, c})
	}
}

// rejectUnrecorded rejects a call that has a slot and was not made.
func (r *run) rejectUnrecorded(c *call, why error) {
	defer r.h.calls.leave()
	defer r.containCall(c)
	r.settle(c, nil, rejectf(codeInterrupted, "The call was not made: its run could not be recorded (%s).", withoutPaths(why)))
}

// notDispatched rejects a call that was cancelled before its tool was called.
func notDispatched() *callError {
	return rejectf(codeAborted, "The call was given up before it was made.")
}

// guarded is dispatch with a panic of an embedder's tool turned into a rejection.
func (r *run) guarded(ctx context.Context, c *call, ev *telling) (value json.RawMessage, rejection *callError) {
	defer func() {
		if p := recover(); p != nil {
			r.h.ReportPanic(duringTool, p, "run", r.id, "tool", ev.ToolID)
			rejection = rejectf(codePanic, "The tool failed: it panicked.")
			rejection.ToolID, rejection.EffectStatus, rejection.unknown = ev.ToolID, effectUnknown, true
		}
	}()
	return r.dispatch(ctx, c, ev)
}

// dispatch resolves the call to a tool and runs it.
func (r *run) dispatch(ctx context.Context, c *call, ev *telling) (json.RawMessage, *callError) {
	if ctx.Err() != nil {
		return nil, notDispatched()
	}
	ctx, done := r.h.holdPlugins(ctx)
	defer done()
	tool, input, rejection := r.target(ctx, c, ev)
	if rejection != nil {
		return nil, rejection
	}
	id := tool.ID()
	c.tool = tool
	r.calls.resolved(c, id)
	ev.found(tool, id, input)
	if rejection := r.checkInput(tool, input); rejection != nil {
		return nil, r.withSignature(c, tool, ev.Via, rejection)
	}
	asked := input
	if input, rejection = r.before(ctx, c, tool, input, ev); rejection != nil {
		return nil, rejection
	}
	ev.sends(tool, input, asked)
	if ctx.Err() != nil { // hooks and people take their time
		return nil, notMade(notDispatched(), r.hookCall(c, tool, input, ev.Via))
	}
	start := time.Now()
	value, rejection := r.callTool(ctx, c, tool, input, ev)
	return r.after(ctx, c, tool, input, ev, time.Since(start), value, rejection)
}

// callTool runs the tool, which may take effect from here on.
func (r *run) callTool(ctx context.Context, c *call, tool *catalog.Tool, input json.RawMessage, ev *telling) (json.RawMessage, *callError) {
	r.calls.markDispatched(c)
	value, err := r.invoke(ev.context(ctx), c, tool, catalog.Invocation{
		ID:             ev.CallID,
		RunID:          r.id,
		ToolID:         ev.ToolID,
		IdempotencyKey: c.IdempotencyKey,
		Session: catalog.Session{
			AgentID: r.session.AgentID, SessionKey: r.session.SessionKey,
			SessionID: r.session.SessionID, TurnID: r.session.TurnID,
		},
		Input:    input,
		Progress: ev.progress(),
	})
	if err != nil {
		return nil, r.ofTool(ctx, tool, err)
	}
	value, rejection := checkReply(tool, value)
	if rejection == nil {
		ev.reply = reply{tool, value}
	}
	return value, rejection
}

// target finds the tool and input that a call means.
func (r *run) target(ctx context.Context, c *call, ev *telling) (*catalog.Tool, json.RawMessage, *callError) {
	switch wire.Method(c.Method) {
	case wire.MethodNamespace:
		return r.namespaceTarget(ctx, c, ev)
	case wire.MethodMCP:
		return r.mcpTarget(c, ev)
	}
	tool, rejection := r.resolve(c.Target)
	if rejection != nil {
		return nil, nil, rejection
	}
	return tool, catalog.NormalInput(c.Args), nil
}

// ofCatalog translates a refusal of the catalog, whose messages are made for
// the model.
func ofCatalog(err error) *callError {
	var e *catalog.Error
	if errors.As(err, &e) {
		return &callError{CallError: wire.CallError{Message: e.Message, Code: string(e.Code), ToolID: e.ToolID}}
	}
	return rejectf(codeNestedTool, "%v", err)
}

// ofTool translates the failure of a tool that was called.
func (r *run) ofTool(ctx context.Context, tool *catalog.Tool, err error) *callError {
	var own *callError
	if errors.As(err, &own) {
		return own
	}
	var upstream *mcp.Error
	if errors.As(err, &upstream) {
		return ofMCP(tool, upstream)
	}
	out := rejectf(codeNestedTool, "%s", err)
	out.ToolID = tool.ID()
	var pe *protocol.Error
	switch {
	case errors.As(err, &pe):
		out.ofPlugin(tool, pe)
	case ctx.Err() != nil:
		out.Code, out.unknown = codeAborted, !tool.ReadOnly
	}
	if out.unknown {
		out.EffectStatus = effectUnknown
	}
	out.Message = boundError(out.Message)
	return out
}

// checkReply accepts a tool's reply for the guest.
func checkReply(tool *catalog.Tool, value json.RawMessage) (json.RawMessage, *callError) {
	if len(value) == 0 {
		return json.RawMessage("null"), nil
	}
	if len(value) > maxReplyBytes {
		return nil, answered(tool, rejectf(codeReplyTooLarge, "The reply of %q is %d bytes, more than the %d that fit.", tool.Name, len(value), maxReplyBytes), "Ask it for less.")
	}
	if !utf8.Valid(value) || !json.Valid(value) {
		e := answered(tool, rejectf(codeInvalidReply, "The reply of %q is not JSON in UTF-8.", tool.Name), "")
		if !tool.ReadOnly { // who knows what else went wrong
			e.EffectStatus, e.unknown = effectUnknown, true
		}
		return nil, e
	}
	return value, nil
}

// answered marks a rejection of a call whose tool has run and answered: only that of a
// tool that reads is proposed to be made again, as again says.
func answered(tool *catalog.Tool, e *callError, again string) *callError {
	e.ToolID = tool.ID()
	if tool.ReadOnly {
		e.EffectStatus = effectNone
		if again != "" {
			e.Message += " " + again
		}
		return e
	}
	e.EffectStatus = effectDone
	e.Message += " The call was made and may have changed something: do not repeat it to get its reply."
	return e
}

// namespaceTarget resolves a call through a namespace: the namespace must be one
// of this run, the path one recorded as callable when its scope was made, and
// the tool one that the namespace's own plugin owns.
func (r *run) namespaceTarget(ctx context.Context, c *call, ev *telling) (*catalog.Tool, json.RawMessage, *callError) {
	reg, known := r.view().namespace(c.Target)
	scope := r.scopes.get(c.Target)
	if !known && scope != nil {
		return nil, nil, rejectf(codeCatalogChanged, "Code mode namespace %s is no longer available: its plugin or its tools have changed since this run was suspended.", text.Cut(c.Target, 128))
	}
	if scope == nil {
		return nil, nil, rejectf(codeUnknownNamespace, "Unknown code mode namespace: %s", text.Cut(c.Target, 128))
	}
	target, err := scope.Resolve(c.Path)
	if err != nil {
		return nil, nil, ofNamespace(namespaces.In(reg.ID, err))
	}
	ev.Via = viaPath(reg.GlobalName, c.Path)
	tool, ok := r.view().catalog.ByOwner(target.Tool, reg.PluginID)
	switch {
	case !ok && r.changed.Load():
		return nil, nil, rejectf(codeCatalogChanged, "%s is no longer available: its tool %q has gone since this run was suspended.", ev.Via, target.Tool)
	case !ok:
		return nil, nil, rejectf(codeNotCallable, "%s is not available: its tool %q is not visible to this run.", ev.Via, target.Tool)
	}
	var args []json.RawMessage
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return nil, nil, rejectf(codeNestedTool, "%s: arguments are not a list.", ev.Via)
	}
	input, err := r.mapInput(ctx, reg, target.Mapping, args)
	if err != nil {
		rejection := *ofNamespace(err)
		rejection.Message = ev.Via + ": " + rejection.Message
		return nil, nil, &rejection
	}
	return tool, catalog.NormalInput(input), nil
}

// mapInput turns arguments into the tool's input, in the host or, for a
// function, in the plugin.
func (r *run) mapInput(ctx context.Context, reg *namespaces.Registration, m namespaces.Mapping, args []json.RawMessage) (json.RawMessage, error) {
	if m.Kind != namespaces.MapFunction {
		return m.Apply(args)
	}
	if reg.MapInput == nil {
		return nil, rejectf(codeNotCallable, "namespace %s maps arguments by a function that its plugin does not have", reg.ID)
	}
	return reg.MapInput(ctx, r.runContext(reg.PluginID), m.Mapper, args)
}

// ofNamespace translates a refusal on the way from a namespace to its tool.
func ofNamespace(err error) *callError {
	var ce *callError
	var ne *namespaces.Error
	var pe *protocol.Error
	switch {
	case errors.As(err, &ce):
		return ce
	case errors.As(err, &ne):
		return rejectf(string(ne.Code), "%s", ne.Error())
	case errors.As(err, &pe):
		return rejectf(pe.Code, "%s", pe.Message)
	default:
		return rejectf(codeNestedTool, "%v", err)
	}
}

func viaPath(global string, path []string) string {
	for _, p := range path {
		global += "." + p
	}
	return global
}

// identify notes which tool a call means. That is done before the store hears of
// the call: whether making it again is harmless depends on the tool. A call that
// means no tool is refused once its turn comes. The caller holds calls.mu.
func (r *run) identify(c *call) {
	if c.Tool != "" || !c.isTool() {
		return
	}
	if wire.Method(c.Method) == wire.MethodMCP {
		if tool, ok := r.mcpTool(c); ok {
			c.Tool = tool.ID()
		}
		return
	}
	if wire.Method(c.Method) == wire.MethodCall {
		if tool, err := r.view().catalog.Resolve(c.Target); err == nil {
			c.Tool = tool.ID()
		}
		return
	}
	reg, known := r.view().namespace(c.Target)
	scope := r.scopes.get(c.Target)
	if !known || scope == nil {
		return
	}
	if target, err := scope.Resolve(c.Path); err == nil {
		if tool, ok := r.view().catalog.ByOwner(target.Tool, reg.PluginID); ok {
			c.Tool = tool.ID()
		}
	}
}

// interrupted rejects a call that was in flight when a host stopped.
func interrupted(c *call) *callError {
	e := rejectf(codeInterrupted, "The host stopped while %q was running, so whether it took effect is unknown. Check before you call it again.", cmp.Or(c.Tool, c.Target))
	e.ToolID, e.EffectStatus, e.unknown = c.Tool, effectUnknown, true
	return e
}
