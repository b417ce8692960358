package plugins

import (
	"context"
	"encoding/json"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// BeforeToolCall asks the plugin's hook about a call, of whatever tool. Every
// error is a *[protocol.Error], and means that the call must not happen. The
// verdict is JSON where it should be and otherwise as the plugin gave it.
func (p *Process) BeforeToolCall(ctx context.Context, c protocol.ToolCall) (protocol.HookVerdict, error) {
	var v protocol.HookVerdict
	err := p.do(ctx, "its hook before "+c.ToolName, func(ctx context.Context) (err error) {
		v, err = p.rpc.BeforeToolCall(ctx, c)
		return err
	})
	return p.mask.verdict(v), err
}

// AfterToolCall tells the plugin's hook how a call ended and returns nil, or the
// value to use instead. Every error is a *[protocol.Error], and means that the
// result must be withheld.
func (p *Process) AfterToolCall(ctx context.Context, c protocol.ToolCall, o protocol.CallOutcome) (json.RawMessage, error) {
	var v json.RawMessage
	err := p.do(ctx, "its hook after "+c.ToolName, func(ctx context.Context) (err error) {
		v, err = p.rpc.AfterToolCall(ctx, c, o)
		return err
	})
	return p.mask.value(v), err
}

// OwnedHooks are the hooks of a plugin.
type OwnedHooks struct {
	PluginID string
	protocol.Capabilities
}

// Hooks returns the hooks of the plugins that are running or coming back, sorted
// by plugin. The hooks of a plugin that is coming back fail, which blocks the
// calls they are for.
func (s *Supervisor) Hooks() []OwnedHooks {
	var out []OwnedHooks
	for _, o := range s.Offers() {
		if o.Capabilities.Hooks() {
			out = append(out, OwnedHooks{PluginID: o.PluginID, Capabilities: o.Capabilities})
		}
	}
	return out
}

// BeforeToolCall is [Process.BeforeToolCall] on the live process of a plugin. It waits for
// one that is coming back. Without one the error names the plugin and the reason.
func (s *Supervisor) BeforeToolCall(ctx context.Context, pluginID string, c protocol.ToolCall) (v protocol.HookVerdict, err error) {
	p, err := s.plugin(pluginID)
	if err != nil {
		return v, err
	}
	err = p.doRestarted(ctx, func(l lease) error {
		v, err = l.live.BeforeToolCall(ctx, c)
		return err
	})
	return v, err
}

// AfterToolCall is [Process.AfterToolCall] on the live process of a plugin.
func (s *Supervisor) AfterToolCall(ctx context.Context, pluginID string, c protocol.ToolCall, o protocol.CallOutcome) (v json.RawMessage, err error) {
	p, err := s.plugin(pluginID)
	if err != nil {
		return nil, err
	}
	err = p.do(ctx, func(l lease) error {
		v, err = l.live.AfterToolCall(ctx, c, o)
		return err
	})
	return v, err
}
