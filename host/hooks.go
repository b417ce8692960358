package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// startHooks reads the embedder's hooks. A bad pattern is an error.
func (h *Host) startHooks() (err error) {
	h.ownHooks, err = policy.NewChain(h.cfg.Hooks, h.cfg.HookTimeout)
	if err != nil {
		return err
	}
	h.hooks.Store(h.ownHooks)
	h.hookGrants = make(map[string]policy.Patterns)
	for id, texts := range h.cfg.PluginHooks {
		if h.owners[id] {
			return fmt.Errorf("hooks of plugin %s: that is the name of an owner of built-in tools, which no plugin may have", id)
		}
		if h.hookGrants[id], err = policy.ParsePatterns("hooks of plugin "+id, texts); err != nil {
			return err
		}
	}
	return nil
}

// refreshHooks makes the chain anew of the embedder's hooks and those of plugins,
// by plugin id. The caller holds viewMu.
func (h *Host) refreshHooks() error {
	declared := make(map[string]protocol.Capabilities)
	if h.plugins != nil {
		for _, o := range h.plugins.Hooks() {
			declared[o.PluginID] = o.Capabilities
		}
		for _, p := range h.plugins.Plugins() {
			if _, known := declared[p.ID]; !known && (p.State == plugins.StateRunning || p.State == plugins.StateRestarting) {
				declared[p.ID] = protocol.Capabilities{} // it has none
			}
		}
	}
	for id := range h.hookGrants {
		if _, known := declared[id]; !known {
			// The operator relies on a plugin that is not there.
			declared[id] = protocol.Capabilities{BeforeToolCall: true, HookTools: []string{"*"}}
		}
	}
	var hooks []policy.Hook
	for _, id := range slices.Sorted(maps.Keys(declared)) {
		if declared[id].Hooks() && !h.owners[id] {
			hooks = append(hooks, h.pluginHook(id, declared[id]))
		}
	}
	chain, err := policy.NewChain(hooks, h.cfg.HookTimeout)
	if err != nil {
		return err
	}
	h.hooks.Store(h.ownHooks.With(chain))
	return nil
}

// pluginHook is the hook of a plugin. It sees the calls of the plugin's own tools,
// and of others those that the plugin asks for and the operator allows.
func (h *Host) pluginHook(id string, has protocol.Capabilities) policy.Hook {
	wants, err := policy.ParsePatterns("hooks of plugin "+id, has.HookTools)
	if err != nil {
		h.log.Error("the hooks of a plugin have a bad pattern; the calls they could be meant for are blocked", "plugin", id, "error", err)
	}
	name := "plugin " + id
	granted := h.hookGrants[id]
	hook := policy.RemoteHook(name, has, pluginHooks{plugins: h.plugins, id: id})
	hook.Tools = nil
	hook.Only = func(c *policy.Call) bool {
		t := policy.Tool{Source: c.Source, Owner: c.Owner, Name: c.ToolName}
		asks := err != nil || wants.Match(t)
		if t.Source == string(catalog.SourceQuoin) && t.Owner == id {
			return asks || len(has.HookTools) == 0
		}
		return asks && granted.Match(t)
	}
	if err != nil {
		hook.Before = func(context.Context, *policy.Call) (policy.Verdict, error) { return policy.Verdict{}, err }
	}
	return hook
}

// pluginHooks asks the live process of a plugin.
type pluginHooks struct {
	plugins *plugins.Supervisor // nil without a plugin directory
	id      string
}

func (p pluginHooks) BeforeToolCall(ctx context.Context, c protocol.ToolCall) (protocol.HookVerdict, error) {
	if p.plugins == nil {
		return protocol.HookVerdict{}, ErrNoPlugins
	}
	return p.plugins.BeforeToolCall(ctx, p.id, c)
}

func (p pluginHooks) AfterToolCall(ctx context.Context, c protocol.ToolCall, o protocol.CallOutcome) (json.RawMessage, error) {
	if p.plugins == nil {
		return nil, ErrNoPlugins
	}
	return p.plugins.AfterToolCall(ctx, p.id, c, o)
}

// holdPlugins returns a context under which a call has to do with one generation of
// each plugin only: the hooks, the mapping of arguments and the tool itself.
func (h *Host) holdPlugins(ctx context.Context) (held context.Context, done func()) {
	if h.plugins == nil {
		return ctx, func() {}
	}
	return h.plugins.KeepGenerations(ctx)
}

// Codes of calls that hooks and people refuse. None of them has taken effect.
const (
	codeBlocked    = "blocked"
	codeDenied     = "denied"
	codeHookFailed = "hook_failed"
)

// effectNone marks a call that has certainly not taken effect.
const effectNone = "none"

// effectDone marks a rejected call whose tool has answered, so that what it does is done.
const effectDone = "done"

// hookCall is a tool call as hooks see it.
func (r *run) hookCall(c *call, tool *catalog.Tool, input json.RawMessage, via string) policy.Call {
	return policy.Call{
		Kind: policy.KindTool, ToolID: tool.ID(), Source: string(tool.Source), Owner: tool.Owner, ToolName: tool.Name,
		Via: via, ReadOnly: tool.ReadOnly, Params: input,
		Session: asPolicySession(r.session), RunID: r.id, CallID: c.publicID(),
	}
}

// before shows a call to the hooks, and to a person if they ask for one, and
// returns the input to use. It comes back when everybody has agreed.
func (r *run) before(ctx context.Context, c *call, tool *catalog.Tool, input json.RawMessage, ev *telling) (json.RawMessage, *callError) {
	pc := r.hookCall(c, tool, input, ev.Via)
	if id := r.askedBefore(c); id != "" {
		pc.Params = c.Input
		if e := r.decided(ctx, c, pc, id); e != nil {
			return nil, e
		}
		return pc.Params, r.checkInput(tool, pc.Params)
	}
	chain := r.h.hooks.Load()
	if chain.Len() == 0 {
		return input, nil
	}
	ruling := chain.Before(ctx, pc, func(_, after json.RawMessage) (json.RawMessage, error) {
		if e := r.checkInput(tool, after); e != nil {
			return nil, e
		}
		return after, nil
	})
	if ruling.Block != nil {
		return nil, r.blocked(ctx, pc, ruling.Block)
	}
	if len(ruling.Asks) == 0 {
		return ruling.Params, nil
	}
	pc.Params = ruling.Params
	if e := r.approve(ctx, c, pc, ruling.Asks); e != nil {
		return nil, e
	}
	return pc.Params, r.checkInput(tool, pc.Params) // the tool may be another by now
}

// blocked rejects a call that a hook has blocked.
func (r *run) blocked(ctx context.Context, pc policy.Call, b *policy.Block) *callError {
	var e *callError
	switch {
	case b.Err != nil && ctx.Err() != nil:
		e = rejectf(codeAborted, "The call of %q was given up before it was made.", pc.ToolName)
	case b.Err != nil:
		r.h.log.Error("a hook failed, so its call is blocked", "hook", b.Hook, "run", r.id, "call", pc.CallID, "tool", pc.ToolID, "error", b.Err)
		e = rejectf(codeHookFailed, "The call of %q was blocked before execution, because the hook %q failed.", pc.ToolName, b.Hook)
	case b.Reason == "":
		e = rejectf(codeBlocked, "The call of %q was blocked before execution by the hook %q.", pc.ToolName, b.Hook)
	default:
		e = rejectf(codeBlocked, "The call of %q was blocked before execution: %s", pc.ToolName, b.Reason)
	}
	return notMade(e, pc)
}

// notMade marks a rejection of a call that never reached its tool.
func notMade(e *callError, pc policy.Call) *callError {
	e.ToolID, e.EffectStatus = pc.ToolID, effectNone
	return e
}

// after shows the end of a call to the hooks and returns what the guest gets of it.
func (r *run) after(ctx context.Context, c *call, tool *catalog.Tool, input json.RawMessage, ev *telling, took time.Duration, value json.RawMessage, rejection *callError) (json.RawMessage, *callError) {
	chain := r.h.hooks.Load()
	if chain.Len() == 0 {
		return value, rejection
	}
	o := policy.Outcome{Status: policy.StatusOK, Value: value, Duration: took}
	if rejection != nil {
		o = policy.Outcome{Status: policy.StatusError, Message: rejection.Message, Code: rejection.Code, Duration: took}
		if rejection.unknown {
			o.Status = policy.StatusUnknown
		}
	}
	// Hooks hear also of calls that ended with their run.
	replaced, err := chain.After(context.WithoutCancel(ctx), r.hookCall(c, tool, input, ev.Via), o)
	switch {
	case err != nil:
		return nil, r.withheld(tool, err)
	case rejection != nil:
		return nil, rejection
	}
	return checkReply(tool, replaced)
}

// withheld rejects a call whose result an after-hook did not let pass. The tool has
// been called.
func (r *run) withheld(tool *catalog.Tool, err error) *callError {
	r.h.log.Error("a hook failed, so the result of its call is withheld", "run", r.id, "tool", tool.ID(), "error", err)
	name := ""
	var failed *policy.HookError
	if errors.As(err, &failed) {
		name = failed.Hook
	}
	e := rejectf(codeHookFailed, "%q was called, but its result is withheld, because the hook %q failed.", tool.Name, name)
	e.ToolID, e.unknown = tool.ID(), !tool.ReadOnly
	if e.unknown {
		e.EffectStatus = effectUnknown
	}
	return e
}
