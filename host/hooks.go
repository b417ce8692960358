package host

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// refreshHooks makes the chain of hooks again: the embedder's hooks, then the plugins' hooks,
// by plugin id. The caller holds mu.
func (vs *views) refreshHooks() error {
	declared := make(map[string]protocol.Capabilities)
	tools := make(map[string][]plugins.OwnedTool)
	if vs.plugins != nil {
		for _, o := range vs.plugins.Offers() {
			tools[o.PluginID] = o.Tools
			if o.Capabilities.Hooks() {
				declared[o.PluginID] = o.Capabilities
			}
		}
		for _, p := range vs.plugins.Plugins() {
			if _, known := declared[p.ID]; !known && (p.State == plugins.StateRunning || p.State == plugins.StateRestarting) {
				declared[p.ID] = protocol.Capabilities{} // it has no hooks
			}
		}
	}
	for id := range vs.hookGrants {
		if _, known := declared[id]; !known {
			// The operator relies on a plugin that is not there.
			declared[id] = protocol.Capabilities{BeforeToolCall: true, HookTools: []string{"*"}}
		}
	}
	var hooks []policy.Hook
	// Bundled ones come last: what they have judged and asked about, no one rewrites.
	ids := slices.SortedFunc(maps.Keys(declared), func(a, b string) int {
		if x, y := vs.cfg.Plugins.isBundled(a), vs.cfg.Plugins.isBundled(b); x != y {
			if x {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	for _, id := range ids {
		if declared[id].Hooks() && !vs.isBuiltIn(id) {
			hooks = append(hooks, vs.pluginHook(id, declared[id], tools[id]))
		}
	}
	chain, err := policy.NewChain(hooks, vs.cfg.HookTimeout)
	if err != nil {
		return err
	}
	vs.hooks.Store(vs.ownHooks.With(chain))
	return nil
}

// bundledHookTimeout bounds the hook of a bundled plugin, which may ask another machine.
const bundledHookTimeout = 45 * time.Second

// pluginHook is the hook of a plugin. It sees the calls of the plugin's own tools,
// and of others those that the plugin asks for and the operator allows.
func (vs *views) pluginHook(id string, has protocol.Capabilities, tools []plugins.OwnedTool) policy.Hook {
	wants, err := policy.ParsePatterns("hooks of plugin "+id, has.HookTools)
	if err != nil {
		vs.sayOnce("the hooks of a plugin have a bad pattern; the calls they could be meant for are blocked", "plugin", id, "error", err)
	}
	granted := vs.hookGrants[id]
	hook := policy.RemoteHook(hookName(id), has, pluginHooks{plugins: vs.plugins, id: id})
	hook.Tools = nil
	if vs.cfg.Plugins.isBundled(id) {
		hook.Timeout = bundledHookTimeout
	}
	hook.Only = func(c *policy.Call) bool {
		t := policy.Tool{Source: c.Source, Owner: c.Owner, Name: c.ToolName}
		asks := err != nil || wants.Match(t)
		if t.Source == string(catalog.SourceQuoin) && vs.ownsTool(id, tools, t.Owner, t.Name) {
			return asks || len(has.HookTools) == 0
		}
		return asks && granted.Match(t)
	}
	if err != nil {
		hook.Before = func(context.Context, *policy.Call) (policy.Verdict, error) { return policy.Verdict{}, err }
	}
	return hook
}

// hookName is how the hook of a plugin is called.
func hookName(id string) string { return "plugin " + id }

// ownApproval returns the approval that the plugin's own hook asked for. The plugin is not
// told what other hooks asked.
func ownApproval(id string, all []catalog.Approval) *protocol.CallApproval {
	for _, a := range all {
		if a.Hook == hookName(id) {
			return &protocol.CallApproval{ID: a.ID, Subject: a.Subject, Edited: a.Edited, Remembered: a.Remembered}
		}
	}
	return nil
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
