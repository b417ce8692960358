package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// pluginsChanged keeps the old view when the new one cannot be made: the tools
// of a plugin that is gone then fail one by one, with its name.
func (vs *views) pluginsChanged() {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.plugins == nil {
		return // the first view is made once all of them have started
	}
	if err := vs.refresh(); err != nil {
		vs.log.Error("tools were not updated after a change of plugins", "error", err)
	}
}

// checkOwn refuses rules, tools and namespaces of the embedder that no program could use.
func (vs *views) checkOwn() error {
	trial := namespaces.NewRegistry()
	for _, r := range vs.cfg.Namespaces {
		if err := trial.Register(r); err != nil {
			return err
		}
	}
	var err error
	if vs.policy, err = vs.cfg.Rules.Compile(); err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	vs.owners = map[string]bool{catalog.OwnerCore: true}
	for _, t := range vs.cfg.Tools {
		if t.Invoke == nil || t.Source == catalog.SourceClient {
			return fmt.Errorf("tool %q of Config.Tools has no Invoke, or the source of a caller's tools: only tools in ExecInput may", t.Name)
		}
		if err := checkTool(t); err != nil {
			return fmt.Errorf("Config.Tools: %w", err)
		}
		if t.Owner == programs.Owner {
			return fmt.Errorf("tool %q of Config.Tools has the owner %s, which is that of saved programs: choose another", t.Name, programs.Owner)
		}
		vs.owners[t.Owner] = true
	}
	for _, r := range vs.cfg.Namespaces {
		if err := checkOwned(r, vs.cfg.Tools); err != nil {
			return err
		}
		vs.owners[r.PluginID] = true
	}
	return nil
}

// checkTool refuses a tool of the embedder's that no program could find or call.
func checkTool(t catalog.Tool) error {
	if err := catalog.Check(t); err != nil {
		return fmt.Errorf("tool %q: %w", t.Name, err)
	}
	if strings.TrimSpace(t.Description) == "" && t.Source != catalog.SourceMCP {
		return fmt.Errorf("tool %q has no description: models choose tools by it", t.Name)
	}
	return nil
}

// checkOwned refuses a namespace of the embedder's if all its tools are another owner's, since
// it would never be there. Tools that are not in Config.Tools may come with a request.
func checkOwned(r namespaces.Registration, tools []catalog.Tool) error {
	other := ""
	for _, t := range tools {
		t = t.WithDefaults()
		switch {
		case !slices.Contains(r.RequiredTools, t.Name) || t.Source != catalog.SourceQuoin:
		case t.Owner == r.PluginID:
			return nil
		default:
			other = t.ID()
		}
	}
	if other == "" {
		return nil
	}
	return fmt.Errorf("namespace %s of %q owns none of the tools that it requires, but there is %s: the Owner of the tools must be the PluginID of the namespace", r.ID, r.PluginID, other)
}

// refresh makes a new view of the embedder's tools and the live plugins.
// The caller holds mu.
func (vs *views) refresh() error {
	vs.said = said{map[string]bool{}, vs.said.now}
	if err := vs.refreshHooks(); err != nil {
		return err
	}
	tools := slices.Clone(vs.cfg.Tools)
	regs := map[string][]namespaces.Registration{}
	for _, r := range vs.cfg.Namespaces {
		regs[r.PluginID] = append(regs[r.PluginID], r)
	}
	if vs.plugins != nil {
		for _, o := range vs.plugins.Offers() {
			if vs.impostor(o.PluginID) {
				continue
			}
			for _, t := range o.Tools {
				tools = append(tools, pluginTool(vs.plugins, vs.ownerOf(o.PluginID), t))
			}
			if regs[o.PluginID] = o.Namespaces; vs.cfg.Plugins.isBundled(o.PluginID) {
				regs[o.PluginID] = vs.asCore(o.PluginID, o.Namespaces)
			}
		}
	}
	if err := vs.checkBundledTools(vs.cfg.Tools); err != nil {
		return err
	}
	tools = append(tools, vs.mcpTools()...)
	c, err := catalog.New(tools, catalog.Options{
		DefaultLimit: int(vs.settings.SearchLimit),
		MaxLimit:     int(vs.settings.MaxSearchLimit),
		Schemas:      vs.schemas,
	})
	if err != nil {
		return err
	}
	registry, refused := vs.register(regs)
	v := view.New(c, registry, vs.mcpNames)
	v.Refused = refused
	for name := range vs.Connecting() {
		if !slices.Contains(v.Owners(), run.OfServers+name) {
			v.Connecting = append(v.Connecting, name)
		}
	}
	slices.Sort(v.Connecting)
	vs.view.Store(v)
	vs.watchers.notify()
	// A cell's first search must not wait until a large catalog is indexed.
	vs.indexing.Go(func() { c.Search("tool", 1) })
	return nil
}

// impostor reports whether a plugin has taken the name of an owner of the
// embedder's. With that name it would own the embedder's tools.
func (vs *views) impostor(pluginID string) bool {
	if !vs.isBuiltIn(pluginID) {
		return false
	}
	vs.sayOnce("a plugin has the name of an owner of built-in tools and is left out: rename it", "plugin", pluginID)
	return true
}

// register makes a registry of namespaces by plugin. If a plugin's namespaces are refused, it
// loses all of them, with a line in the log, and is in refused.
func (vs *views) register(byPlugin map[string][]namespaces.Registration) (registry *namespaces.Registry, refused map[string]error) {
	// The embedder's own first, then the bundled plugins' namespaces, else in order of id: if
	// two claim one global, always the same one gets it.
	rank := func(id string) int {
		switch {
		case vs.isBuiltIn(id):
			return 0
		case vs.cfg.Plugins.isBundled(id):
			return 1
		}
		return 2
	}
	ids := slices.SortedFunc(maps.Keys(byPlugin), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
	})
	registry, refused = namespaces.NewRegistry(), make(map[string]error)
	for _, id := range ids {
		next := registry.All() // bundled plugins' namespaces and the embedder's share an owner
		next = append(slices.DeleteFunc(next, func(r namespaces.Registration) bool { return r.PluginID != vs.ownerOf(id) }), byPlugin[id]...)
		if err := registry.Replace(vs.ownerOf(id), next); err != nil {
			vs.sayOnce("namespaces of a plugin were refused", "plugin", id, "error", err)
			refused[id] = err
		}
	}
	return registry, refused
}

// pluginTool makes a catalog tool that calls the plugin's live process.
func pluginTool(s *plugins.Supervisor, owner string, t plugins.OwnedTool) catalog.Tool {
	examples := make([]catalog.Example, 0, len(t.Examples))
	for _, e := range t.Examples {
		examples = append(examples, catalog.Example{Description: e.Description, Input: e.Input, Output: e.Output})
	}
	return catalog.Tool{
		Name:        t.Name,
		Label:       t.Label,
		Description: t.Description,
		Source:      catalog.SourceQuoin,
		Owner:       owner,
		Parameters:  t.Parameters,
		Output:      t.Output,
		ReadOnly:    t.ReadOnly,
		Idempotent:  t.Idempotent,
		Revertible:  t.Revertible,
		Examples:    examples,
		Invoke: func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
			return s.CallTool(ctx, t.PluginID, plugins.CallRequest{
				Tool:           t.Name,
				CallID:         c.ID,
				IdempotencyKey: c.IdempotencyKey,
				Epoch:          c.Epoch,
				Run: namespaces.RunContext{
					AgentID:    c.Session.AgentID,
					SessionKey: c.Session.SessionKey,
					SessionID:  c.Session.SessionID,
					RunID:      c.RunID,
					TurnID:     c.Session.TurnID,
				},
				Input:    c.Input,
				Approval: ownApproval(t.PluginID, c.Approvals),
				RevertBy: inverseOf(c.RevertBy),
				Known:    &t,
			}, c.Progress)
		},
	}
}

// inverseOf is f for what plugins say.
func inverseOf(f func(catalog.Inverse)) func(protocol.Inverse) {
	if f == nil {
		return nil
	}
	return func(i protocol.Inverse) { f(catalog.Inverse(i)) }
}

// mcpChanged makes a new view once the host has one.
func (vs *views) mcpChanged() {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.view.Load() == nil {
		return
	}
	if err := vs.refresh(); err != nil {
		vs.log.Error("tools were not updated after a change of MCP servers", "error", err)
	}
}
