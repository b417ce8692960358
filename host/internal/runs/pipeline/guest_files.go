package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/declare"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/internal/awake"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// The virtual files a guest reads on first use, so that a cell that does not look
// at the catalog or at a namespace pays nothing for it.
const (
	fileCatalog    = "catalog.json"
	fileTools      = "tools.json"
	prefixScope    = "namespaces/"
	suffixScope    = ".json"
	codeScopeError = "namespace_unavailable" // the plugin refuses the namespace for this run; the message says why
)

// Serve serves the guest's virtual files.
func (r Files) Serve(ctx context.Context, path string) (data []byte, found bool) {
	switch path {
	case fileCatalog:
		return r.View().Catalog.GuestEntriesJSON(), true
	case fileTools:
		return r.View().Catalog.SafeNamesJSON(), true
	case filePrograms:
		return r.programsFile(), true
	}
	if key, ok := strings.CutPrefix(path, prefixProgram); ok {
		return r.programFile(key)
	}
	if question, ok := strings.CutPrefix(path, view.PrefixHint); ok {
		h := view.Hints{View: r.View(), Layers: r.Access.Layers, Scope: r.Scopes.Get, Servers: r.Env.Views.MCPStatus, Coming: r.Env.Views.ComingPlugins, Used: r.Used.Tools}
		return h.Explain(question)
	}
	if strings.HasPrefix(path, view.PrefixAPI) {
		return r.apiFile(ctx, path)
	}
	if path == view.FileMCP || strings.HasPrefix(path, view.PrefixMCP) {
		return r.View().MCPFile(path)
	}
	id, ok := strings.CutPrefix(path, prefixScope)
	if !ok {
		return nil, false
	}
	id, ok = strings.CutSuffix(id, suffixScope)
	if !ok {
		return nil, false
	}
	reg, ok := r.View().Namespace(id)
	if !ok {
		return nil, false
	}
	scope, err := r.scope(ctx, reg)
	if err != nil {
		return scopeError(reg, err), true
	}
	return scope.Guest(), true
}

// scope returns the namespace's scope for this run, making it on first use. What
// a plugin returns is checked in full before the guest sees any of it. A failure is
// not kept: the next use asks again.
func (r *Run) scope(ctx context.Context, reg *namespaces.Registration) (*namespaces.Scope, error) {
	scope := r.Scopes.Get(reg.ID)
	if scope != nil {
		return scope, nil
	}
	// The guest waits in the middle of a turn: a plugin that does not answer must
	// not use up the time in which the guest could still handle that.
	now := time.Now()
	ctx, cancel := awake.WithTimeout(ctx, halfway(now, r.TurnEnds).Sub(now))
	defer cancel()
	v, err := r.createScope(ctx, reg)
	if err != nil {
		return nil, err
	}
	scope, ok := v.(*namespaces.Scope)
	if !ok {
		if scope, err = namespaces.Serialize(v, namespaces.Limits{}); err != nil {
			return nil, err
		}
	}
	if err := scope.CheckTargets(reg.RequiredTools); err != nil {
		return nil, err
	}
	r.Scopes.Put(reg.ID, scope)
	return scope, nil
}

// createScope asks for a scope and stops waiting when ctx ends, whatever the
// namespace's own function does.
func (r *Run) createScope(ctx context.Context, reg *namespaces.Registration) (any, error) {
	type answer struct {
		v   any
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		a := answer{err: errScopePanicked}
		r.Env.Guard(func() { a.v, a.err = reg.CreateScope(ctx, r.RunContext(reg.PluginID)) })
		answered <- a
	}()
	select {
	case a := <-answered:
		return a.v, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("its plugin did not say in time what is in it: %w", context.Cause(ctx))
	}
}

var errScopePanicked = errors.New("its own code panicked")

// scopeError returns the file of a namespace when its scope could not be made: touching the
// global throws this.
func scopeError(reg *namespaces.Registration, err error) []byte {
	e := unavailable(reg, err)
	b, merr := json.Marshal(map[string]any{"error": e.CallError})
	if merr != nil {
		return []byte(`{"error":{"message":"namespace is unavailable"}}`)
	}
	return b
}

// unavailable says that a scope could not be made, and why.
func unavailable(reg *namespaces.Registration, err error) *fault.Rejection {
	e := *fault.RejectionFromNamespace(namespaces.In(reg.ID, err))
	e.Message = codemode.BoundMessage("Namespace " + reg.GlobalName + " of plugin " + reg.PluginID + " is unavailable: " + e.Message)
	switch e.Code {
	case "":
		e.Code = codeScopeError
	case protocol.CodeRestarting:
		e.EffectStatus, e.Retryable = fault.EffectNone, true // the next touch asks again
	}
	return &e
}

// maxScopeText bounds the description of a namespace in a list of files, in bytes.
const maxScopeText = 300

// apiFile serves the files behind API: the files of the view and, below namespaces/, the
// run's own. A plugin is asked for a scope only by who reads the file of its namespace, or
// the list of all files, which tells their sizes.
func (r Files) apiFile(ctx context.Context, path string) (data []byte, found bool) {
	v := r.View()
	if path == view.FileAPIIndex && (len(v.Namespaces) > 0 || len(r.visiblePrograms()) > 0) {
		return r.apiIndex(ctx, v), true
	}
	if name, ok := strings.CutPrefix(path, view.PrefixAPI+prefixProgramAPI); ok {
		return r.programDeclaration(name)
	}
	if name, ok := strings.CutPrefix(path, view.PrefixAPI+prefixScopeAPI); ok {
		return r.scopeFile(ctx, v, name)
	}
	if data, found := r.Env.kept.file(r.Session, strings.TrimPrefix(path, view.PrefixAPI)); found {
		return data, true
	}
	data, tool, found := v.Declarations.File(path)
	if tool != nil {
		r.Used.Note(tool)
	}
	return data, found
}

func (r Files) apiIndex(ctx context.Context, v *view.View) []byte {
	list := append([]view.DeclarationEntry{}, v.Declarations.Entries()...)
	for i := range v.Namespaces {
		list = append(list, r.declareScope(ctx, v, &v.Namespaces[i], false).DeclarationEntry)
	}
	list = append(list, r.programEntries()...)
	return view.Encode(view.SortEntries(list))
}

// scopeFile serves <Global>.d.ts and what the index says of it.
func (r Files) scopeFile(ctx context.Context, v *view.View, name string) (data []byte, found bool) {
	name, entry := strings.CutSuffix(name, view.SuffixEntry)
	global, ok := strings.CutSuffix(name, suffixDeclaration)
	if !ok {
		return nil, false
	}
	for i := range v.Namespaces {
		reg := &v.Namespaces[i]
		switch {
		case reg.GlobalName != global:
			continue
		case entry:
			return view.Encode(r.declareScope(ctx, v, reg, false).DeclarationEntry), true
		}
		d := r.declareScope(ctx, v, reg, true)
		for _, tool := range d.tools {
			r.Used.Note(tool)
		}
		return d.text, true
	}
	return nil, false
}

// declareScope returns the file of a namespace, making it on first use and when
// the tools have changed. If there was no scope the last time, it asks for one
// if again says so.
func (r Files) declareScope(ctx context.Context, v *view.View, reg *namespaces.Registration, again bool) *scopeDeclaration {
	if d := r.declared[reg.ID]; d != nil && d.of == v && !(d.failed && again) {
		return d
	}
	d := &scopeDeclaration{of: v}
	scope, err := r.scope(ctx, reg)
	if err != nil {
		d.failed, d.text = true, declare.Unavailable(unavailable(reg, err).Message)
	} else {
		d.text = declare.Namespace(reg, scope, d.finder(reg.PluginID))
	}
	d.DeclarationEntry = view.DeclarationEntry{
		Path:        prefixScopeAPI + reg.GlobalName + suffixDeclaration,
		Description: text.Shorten(strings.ToValidUTF8(strings.Join(strings.Fields(reg.Description), " "), "\uFFFD"), maxScopeText),
		Bytes:       len(d.text),
	}
	if r.declared == nil {
		r.declared = make(map[string]*scopeDeclaration)
	}
	r.declared[reg.ID] = d
	return d
}
