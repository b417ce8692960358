package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// AddNamespace adds a namespace. Verbs and their argument mappings are checked
// against the tools' input schemas. It panics on a programmer's mistake; see
// [Plugin.AddNamespaceSafely].
func (p *Plugin) AddNamespace(n Namespace) {
	if err := p.AddNamespaceSafely(n); err != nil {
		misuse(err)
	}
}

// AddNamespaceSafely is [Plugin.AddNamespace] with an error instead of a panic.
// After an error the plugin is unchanged.
func (p *Plugin) AddNamespaceSafely(n Namespace) error {
	r, err := p.newNamespace(n)
	if err != nil {
		return fmt.Errorf("namespace %q: %w", n.ID, err)
	}
	p.namespaces[n.ID] = r
	p.spaceOrder = append(p.spaceOrder, n.ID)
	return nil
}

// newNamespace checks n and prepares it.
func (p *Plugin) newNamespace(n Namespace) (*registeredNamespace, error) {
	if err := p.checkNames(n); err != nil {
		return nil, err
	}
	if n.CreateScope != nil {
		required, err := p.toolNames(n.Tools)
		if err != nil {
			return nil, err
		}
		return &registeredNamespace{Namespace: n, required: required}, nil
	}
	found := make(map[string]bool)
	encoded, err := p.encodeScope(n.Scope, func(name string) error { found[name] = true; return nil })
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("the scope has no verb; a namespace must lead to at least one tool")
	}
	return &registeredNamespace{Namespace: n, required: slices.Sorted(maps.Keys(found)), fixed: encoded}, nil
}

// checkNames checks what needs no look into the scope.
func (p *Plugin) checkNames(n Namespace) error {
	switch {
	case n.ID == "":
		return errors.New("no ID")
	case p.namespaces[n.ID] != nil:
		return errors.New("added twice")
	case !namespaces.IsIdentifier(n.Global):
		return fmt.Errorf("global %q is not a JavaScript identifier", n.Global)
	case n.Description == "":
		return errors.New("no description: the model chooses by it")
	case (n.Scope == nil) == (n.CreateScope == nil):
		return errors.New("give exactly one of Scope and CreateScope")
	case n.Scope != nil && len(n.Tools) > 0:
		return errors.New("field Tools goes with CreateScope; with Scope the tools are found in it")
	case n.CreateScope != nil && len(n.Tools) == 0:
		return errors.New("CreateScope needs Tools: the tools its verbs may lead to")
	}
	for _, other := range p.namespaces {
		if other.Global == n.Global {
			return fmt.Errorf("global %q is already used by namespace %q", n.Global, other.ID)
		}
	}
	return nil
}

func (p *Plugin) toolNames(refs []*ToolRef) ([]string, error) {
	names := make(map[string]bool)
	for _, t := range refs {
		if t == nil || t.owner != p {
			return nil, errors.New("field Tools holds a tool that was not added to this plugin")
		}
		names[t.name] = true
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// encodeScope turns a scope into its tagged JSON tree. allow is asked about the
// tool of every verb.
func (p *Plugin) encodeScope(scope Scope, allow func(tool string) error) (json.RawMessage, error) {
	tree, err := marked(scope, func(_ []string, v *VerbRef, m namespaces.Mapping) error {
		if v.tool.owner != p {
			return fmt.Errorf("tool %q was not added to this plugin", v.tool.name)
		}
		info := p.tools[v.tool.name].info
		call := namespaces.Call{Mapping: m, Returns: v.returns.names(), ReturnsIn: v.returnsIn}
		if err := call.Check(info.Parameters, info.Output); err != nil {
			return fmt.Errorf("tool %q: %w", v.tool.name, err)
		}
		return allow(v.tool.name)
	})
	if err != nil {
		return nil, err
	}
	s, err := namespaces.Serialize(tree, namespaces.Limits{})
	if err != nil {
		return nil, err
	}
	return s.MarshalJSON()
}

// scopeFor returns the encoded scope of one run.
func (p *Plugin) scopeFor(ctx context.Context, n *registeredNamespace, rc RunContext) (json.RawMessage, error) {
	if n.CreateScope == nil {
		return n.fixed, nil
	}
	scope, err := n.CreateScope(ctx, rc)
	if err != nil {
		return nil, err
	}
	encoded, err := p.encodeScope(scope, func(tool string) error {
		if !slices.Contains(n.required, tool) {
			return fmt.Errorf("tool %q is not listed in the namespace's Tools", tool)
		}
		return nil
	})
	if err != nil {
		return nil, protocol.NewError(protocol.KindPlugin, protocol.CodeInvalidOutput, "namespace %s: %v", n.ID, err)
	}
	return encoded, nil
}

// mapInput runs the mapping function with the given name.
func (p *Plugin) mapInput(ctx context.Context, n *registeredNamespace, rc RunContext, mapper string, args []json.RawMessage) (json.RawMessage, error) {
	f, err := n.findMapper(ctx, rc, mapper)
	if err != nil {
		return nil, err
	}
	input, err := f(ctx, rc, args)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(input)
	if err != nil {
		return nil, protocol.NewError(protocol.KindPlugin, protocol.CodeInvalidOutput, "namespace %s: the mapped input cannot be encoded: %v", n.ID, err)
	}
	return b, nil
}

// findMapper looks a mapping function up by the place of its verb. A scope made
// per run is made again, so that nothing is kept between calls.
func (n *registeredNamespace) findMapper(ctx context.Context, rc RunContext, mapper string) (MapFunc, error) {
	scope := n.Scope
	if n.CreateScope != nil {
		var err error
		if scope, err = n.CreateScope(ctx, rc); err != nil {
			return nil, err
		}
	}
	var found MapFunc
	_, err := marked(scope, func(path []string, v *VerbRef, _ namespaces.Mapping) error {
		if v.mapper != nil && mapperName(path) == mapper {
			found = v.mapper
		}
		return nil
	})
	if err != nil {
		return nil, protocol.NewError(protocol.KindPlugin, protocol.CodeInvalidOutput, "namespace %s: %v", n.ID, err)
	}
	if found == nil {
		return nil, protocol.NewError(protocol.KindInput, protocol.CodeUnknownMapper, "namespace %s has no mapping function %s in this run", n.ID, mapper)
	}
	return found, nil
}
