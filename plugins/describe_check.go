package plugins

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// Limits of what one plugin may offer.
const (
	maxTools       = 512
	maxNamespaces  = 64
	maxDescription = 16 << 10
	maxLabel       = 256
	maxExamples    = 32
	maxHookTools   = 64
	maxPattern     = 512
)

// toolName is what a tool may be called. Ids are "quoin:<plugin>:<name>", so no
// colon.
var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// reservedTools are names of the control tools hosts offer to models.
var reservedTools = []string{"tool_search_code", "tool_search", "tool_describe", "tool_call"}

// checkDescription reports everything about d that refuses the load. Messages
// say what the plugin's author has to change.
func checkDescription(m manifest.Manifest, d *protocol.Description) error {
	if err := checkIdentity(m, d); err != nil {
		return err
	}
	var errs []error
	if len(d.Tools) > maxTools {
		errs = append(errs, fmt.Errorf("it offers %d tools; the limit is %d", len(d.Tools), maxTools))
	}
	seen := make(map[string]bool)
	for i := range d.Tools {
		t := &d.Tools[i]
		if seen[t.Name] {
			errs = append(errs, fmt.Errorf("tool %q is listed twice; give each tool its own name", t.Name))
		}
		seen[t.Name] = true
		errs = append(errs, checkTool(t))
	}
	errs = append(errs, checkNamespaces(m.ID, d, seen), checkHooks(d.Capabilities))
	return errors.Join(errs...)
}

// checkIdentity holds the process to its manifest.
func checkIdentity(m manifest.Manifest, d *protocol.Description) error {
	if d.ID != m.ID {
		return fmt.Errorf("the process says it is plugin %q, but its manifest says %q; a plugin can only be itself: correct one of the two", d.ID, m.ID)
	}
	if d.Version != m.Version {
		return fmt.Errorf("the process says it is version %q, but its manifest says %q; rebuild the plugin or correct the manifest", d.Version, m.Version)
	}
	return nil
}

func checkTool(t *protocol.ToolInfo) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("tool %q: %w", t.Name, fmt.Errorf(format, args...))
	}
	switch {
	case !toolName.MatchString(t.Name):
		return fail("the name must be a letter, then up to 63 letters, digits, '_', '.' and '-'")
	case slices.Contains(reservedTools, t.Name):
		return fail("the name belongs to the host; choose another")
	case t.Description == "":
		return fail("it has no description; the model chooses by it")
	case len(t.Description) > maxDescription:
		return fail("the description has %d bytes; the limit is %d", len(t.Description), maxDescription)
	case len(t.Label) > maxLabel:
		return fail("the label has %d bytes; the limit is %d", len(t.Label), maxLabel)
	case len(t.Examples) > maxExamples:
		return fail("it has %d examples; the limit is %d", len(t.Examples), maxExamples)
	case t.Parameters == nil:
		return fail("it has no input schema; write at least {\"type\": \"object\"}")
	}
	if err := manifest.CheckSchema(t.Parameters, true); err != nil {
		return fail("input: %w", err)
	}
	if t.Output != nil {
		if err := manifest.CheckSchema(t.Output, false); err != nil {
			return fail("output: %w", err)
		}
	}
	for i, e := range t.Examples {
		if e.Input == nil {
			return fail("example %d has no input", i+1)
		}
		if err := manifest.ValidateJSON(t.Parameters, e.Input); err != nil {
			return fail("example %d does not fit the input schema: %w", i+1, err)
		}
	}
	return nil
}

// checkHooks bounds what a plugin says of its hooks. The host reads the patterns.
func checkHooks(c protocol.Capabilities) error {
	if len(c.HookTools) > 0 && !c.Hooks() {
		return errors.New("it names tools for hooks, but has no hook")
	}
	if len(c.HookTools) > maxHookTools {
		return fmt.Errorf("its hooks name %d patterns of tools; the limit is %d", len(c.HookTools), maxHookTools)
	}
	for _, p := range c.HookTools {
		if p == "" || len(p) > maxPattern || strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return fmt.Errorf("its hooks name the pattern %.80q; a pattern is printable text of up to %d bytes", p, maxPattern)
		}
	}
	return nil
}

// checkNamespaces applies the registry's own rules to the plugin's namespaces,
// and that each leads to tools of this plugin.
func checkNamespaces(id string, d *protocol.Description, tools map[string]bool) error {
	if len(d.Namespaces) > maxNamespaces {
		return fmt.Errorf("it offers %d namespaces; the limit is %d", len(d.Namespaces), maxNamespaces)
	}
	var errs []error
	for _, n := range d.Namespaces {
		for _, t := range n.RequiredTools {
			if !tools[t] {
				errs = append(errs, fmt.Errorf("namespace %q leads to tool %q, which is not a tool of plugin %q; a plugin can only use its own tools", n.ID, t, id))
			}
		}
	}
	refused := func(context.Context, namespaces.RunContext) (any, error) {
		return nil, errors.New("not for use")
	}
	registry := namespaces.NewRegistry()
	for _, n := range d.Namespaces {
		errs = append(errs, registry.Register(registration(id, n, refused, nil)))
	}
	return errors.Join(errs...)
}

// fixedScopes decodes and checks the scopes that d says are the same in every
// run.
func fixedScopes(d *protocol.Description) (map[string]*namespaces.Scope, error) {
	scopes := make(map[string]*namespaces.Scope)
	for _, n := range d.Namespaces {
		if n.Scope == nil {
			continue
		}
		scope, err := namespaces.Decode(n.Scope, namespaces.Limits{})
		if err == nil {
			err = scope.CheckTargets(n.RequiredTools)
		}
		if err != nil {
			return nil, fmt.Errorf("it describes an unusable scope: %w", namespaces.In(n.ID, err))
		}
		scopes[n.ID] = scope
	}
	return scopes, nil
}
