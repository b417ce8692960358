package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
	"github.com/quoinhq/quoin/namespaces"
)

// resolve finds the tool that a call means and makes the tool's input of its arguments.
func resolve(ctx context.Context, c *call) *fault.Rejection {
	if ctx.Err() != nil {
		return fault.NotDispatched()
	}
	var rejection *fault.Rejection
	switch wire.Method(c.Method) {
	case wire.MethodNamespace:
		rejection = c.resolveNamespace(ctx)
	case wire.MethodMCP:
		rejection = c.resolveMCP()
	case wire.MethodProgram:
		rejection = c.resolveSavedProgram(ctx)
	case wire.MethodSave:
		rejection = c.resolveSave()
	default:
		rejection = c.resolveTool()
	}
	if rejection != nil {
		return rejection
	}
	c.input = calls.IntegersForText(c.input, c.tool.Parameters)
	c.given = c.input
	c.run.Calls.Resolved(c.Entry, c.tool.ID())
	c.subject = c.run.callSubject(c)
	return nil
}

// callSubject is a call of a tool as hooks and people see it.
func (r *Run) callSubject(c *call) policy.Call {
	return policy.Call{
		Kind: policy.KindTool, ToolID: c.tool.ID(), Source: string(c.tool.Source), Owner: c.tool.Owner, ToolName: c.tool.Name,
		Via: c.via, ReadOnly: c.tool.ReadOnly, Params: c.input,
		Session: r.Session, RunID: r.ID, CallID: c.PublicID(),
	}
}

// resolveTool resolves a call by the id or the name of a tool.
func (c *call) resolveTool() *fault.Rejection {
	tool, rejection := c.run.findTool(c.Target)
	if rejection != nil {
		return rejection
	}
	c.tool, c.input = tool, catalog.NormalInput(c.Args)
	return nil
}

// findTool finds the tool that a guest means. In a run with changed tools it says so if it
// finds no tool.
func (r *Run) findTool(idOrName string) (*catalog.Tool, *fault.Rejection) {
	tool, err := r.View().Catalog.Resolve(idOrName)
	if err == nil {
		return tool, nil
	}
	if IsProgramTool(idOrName) {
		return nil, fault.Reject(fault.CodeNotCallable, "%s is a saved program: programs.run(%q, input) runs it.", idOrName, strings.TrimPrefix(idOrName, programs.Prefix))
	}
	e := fault.RejectionFromCatalog(err)
	if tool, ok := r.View().Catalog.ByID(e.ToolID); ok && errors.Is(err, catalog.NotCallable) {
		e.Message = "MCP tool " + tool.ID() + " is not reached through tools; call it as " + r.View().MCPPath(tool) + "(input)."
	}
	if r.Changed.Load() && (errors.Is(err, catalog.UnknownTool) || errors.Is(err, catalog.AmbiguousTool)) {
		e.Code = fault.CodeCatalogChanged
		e.Message = "The tools have changed since this run was suspended. " + e.Message
	}
	return nil, e
}

// resolveNamespace resolves a call through a namespace: the namespace must be one
// of this run, the path one recorded as callable when its scope was made, and
// the tool one that the namespace's own plugin owns.
func (c *call) resolveNamespace(ctx context.Context) *fault.Rejection {
	r := c.run
	reg, known := r.View().Namespace(c.Target)
	scope := r.Scopes.Get(c.Target)
	if !known && scope != nil {
		return fault.Reject(fault.CodeCatalogChanged, "Code mode namespace %s is no longer available: its plugin or its tools have changed since this run was suspended.", text.Cut(c.Target, 128))
	}
	if scope == nil {
		return fault.Reject(fault.CodeUnknownNamespace, "Unknown code mode namespace: %s", text.Cut(c.Target, 128))
	}
	target, err := scope.Resolve(c.Path)
	if err != nil {
		return fault.RejectionFromNamespace(namespaces.In(reg.ID, err))
	}
	c.via = viaPath(reg.GlobalName, c.Path)
	tool, ok := r.View().Catalog.ByOwner(target.Tool, reg.PluginID)
	switch {
	case !ok && r.Changed.Load():
		return fault.Reject(fault.CodeCatalogChanged, "%s is no longer available: its tool %q has gone since this run was suspended.", c.via, target.Tool)
	case !ok:
		return fault.Reject(fault.CodeNotCallable, "%s is not available: its tool %q is not visible to this run.", c.via, target.Tool)
	}
	var args []json.RawMessage
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return fault.Reject(fault.CodeNestedTool, "%s: arguments are not a list.", c.via)
	}
	input, err := r.mapInput(ctx, reg, target.Mapping, args)
	if err != nil {
		rejection := *fault.RejectionFromNamespace(err)
		rejection.Message = c.via + ": " + rejection.Message
		return &rejection
	}
	c.tool, c.input = tool, catalog.NormalInput(input)
	return nil
}

// mapInput turns arguments into the tool's input, in the host or, for a
// function, in the plugin.
func (r *Run) mapInput(ctx context.Context, reg *namespaces.Registration, m namespaces.Mapping, args []json.RawMessage) (json.RawMessage, error) {
	if m.Kind != namespaces.MapFunction {
		return m.Apply(args)
	}
	if reg.MapInput == nil {
		return nil, fault.Reject(fault.CodeNotCallable, "namespace %s maps arguments by a function that its plugin does not have", reg.ID)
	}
	return reg.MapInput(ctx, r.RunContext(reg.PluginID), m.Mapper, args)
}

// viaPath is how people and programs are shown where a call came from.
func viaPath(global string, path []string) string {
	if namespaces.IsMethod(path) {
		return global + "." + path[0] + "#" + path[2]
	}
	for _, p := range path {
		global += "." + p
	}
	return global
}

// resolveMCP resolves a call through MCP: the tool must be one that the run's catalog has
// of that server, under the name by which the host listed it.
func (c *call) resolveMCP() *fault.Rejection {
	r := c.run
	tool, ok := r.mcpTool(c.Entry)
	if !ok {
		e := fault.Reject(fault.CodeUnknownMCPTool, "MCP server %q has no tool %q that this run may call.", text.Cut(c.Target, 64), text.Cut(strings.Join(c.Path, "."), 256))
		if r.Changed.Load() {
			e.Code = fault.CodeCatalogChanged
			e.Message = "The tools have changed since this run was suspended. " + e.Message
		}
		return e
	}
	c.via = r.View().MCPPath(tool)
	input, rejection := mcpInput(tool, c.Args)
	if rejection != nil {
		rejection.ToolID = tool.ID()
		return rejection
	}
	c.tool, c.input = tool, input
	return nil
}

// resolveProgram shows the held program that a call stands for.
func resolveProgram(_ context.Context, c *call) *fault.Rejection {
	var held Program
	if err := json.Unmarshal(c.Args, &held); err != nil {
		return fault.Reject(fault.CodeNestedTool, "the program cannot be read: %v", err)
	}
	c.subject = c.run.programCall(json.RawMessage(c.Args), policy.InputKind(held.Language))
	c.input, c.value = c.subject.Params, json.RawMessage("null")
	return nil
}
