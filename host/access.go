package host

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/plugins"
)

// access is what one run may reach next to what there is for everybody: the rules
// that narrow it and the tools its caller brought. Both stay the same for the
// whole run. What they come to depends on the plugins of the moment: the view is
// resolved when a run starts and whenever it resumes.
type access struct {
	rules  policy.Rules // of this run, next to its session's
	layers policy.Layers
	client *clientTools // nil: none
	view   atomic.Pointer[view]
}

// accessFor checks what a caller gave to Exec and resolves the first view.
func (h *Host) accessFor(s Session, in ExecInput) (*access, *failure) {
	client := in.turn
	if client == nil {
		var f *failure
		if client, f = newClientTools(in.Tools); f != nil {
			return nil, f
		}
	}
	if n := len(in.Rules.Allow) + len(in.Rules.Deny); n > maxRunPatterns {
		return nil, failf(CodeInvalidInput, ReasonInvalidConfig, PhaseInput, "the rules of this run have %d patterns, at most %d are taken: use * in patterns, or owner:NAME for all tools of an owner.", n, maxRunPatterns)
	}
	return h.newAccess(s, in.Rules, client)
}

// maxRunPatterns bounds the patterns that a caller gives for one run: each is compared
// with every tool.
const maxRunPatterns = 256

func (h *Host) newAccess(s Session, rules policy.Rules, client *clientTools) (*access, *failure) {
	layer, err := rules.Compile()
	if err != nil {
		return nil, failf(CodeInvalidInput, ReasonInvalidConfig, PhaseInput, "the rules of this run are not usable: %v", err)
	}
	to := &access{rules: rules, layers: h.policy.For(s.AgentID, s.SessionKey).With(layer), client: client}
	if err := h.resolveView(to); err != nil {
		return nil, failf(CodeInvalidInput, ReasonInvalidConfig, PhaseInput, "the caller's tools are not usable: %v", err)
	}
	return to, nil
}

// resolveView resolves the view.
func (h *Host) resolveView(to *access) error {
	v, err := h.deriveView(to.layers, to.client)
	if err == nil {
		to.view.Store(v)
	}
	return err
}

// view is what the run reaches now.
func (r *run) view() *view { return r.access.view.Load() }

// storedRules is what a record keeps of the rules.
func (to *access) storedRules() json.RawMessage {
	if to.rules.Empty() {
		return nil
	}
	b, err := json.Marshal(to.rules)
	if err != nil {
		panic("host: strings cannot be encoded: " + err.Error()) // they always can
	}
	return b
}

// errStoredAccess means that a record names rules or tools that are malformed.
var errStoredAccess = errors.New("its rules or tools are damaged")

// restoreAccess makes the access of a record's run. A run that started with the tools
// of a model request gets those of the request that resumes it.
func (h *Host) restoreAccess(s Session, rec *runstore.Record, turn *clientTools) (*access, error) {
	var rules policy.Rules
	if len(rec.Rules) > 0 && json.Unmarshal(rec.Rules, &rules) != nil {
		return nil, errStoredAccess
	}
	client, err := loadClientTools(rec.ClientTools)
	if err != nil {
		return nil, err
	}
	if client == nil {
		client = turn
	}
	to, f := h.newAccess(s, rules, client)
	if f != nil {
		return nil, f
	}
	return to, nil
}

// isDown reports whether this host has the plugin or the MCP server, without its
// tools.
func (h *Host) isDown(owner string) bool {
	if server, ok := strings.CutPrefix(owner, ofServers); ok {
		return slices.ContainsFunc(h.MCPStatus(), func(s mcp.Status) bool { return s.Name == server && s.State != mcp.StateConnected })
	}
	plugin := strings.TrimPrefix(owner, ofPlugins)
	return slices.ContainsFunc(h.Plugins(), func(s plugins.Status) bool { return s.ID == plugin && s.State != plugins.StateRunning })
}
