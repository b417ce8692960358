package pipeline

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
	"github.com/quoinhq/quoin/namespaces"
)

// withSignature adds to the refusal of an input how the verb is called, if its
// arguments are not the input: what the tool expects is an object, and a model that
// is told so and no more gives the verb that object.
func (r *Run) withSignature(c *call, tool *catalog.Tool, via string, refusal *fault.Rejection) *fault.Rejection {
	if wire.Method(c.Method) != wire.MethodNamespace {
		return refusal
	}
	scope := r.Scopes.Get(c.Target)
	target, err := scope.Resolve(c.Path)
	if err != nil || target.Mapping.Kind != namespaces.MapPositional {
		return refusal
	}
	m := target.Mapping
	if namespaces.IsMethod(c.Path) {
		m.Positional = m.Positional[1:] // the result itself gives the first
		_, via, _ = strings.Cut(via, "#")
	}
	refusal.Message = codemode.BoundMessage(refusal.Message + ". Call it as " + via + "(" + parameters(m, tool.Parameters) + ").")
	return refusal
}

// parameters writes the parameters of a verb, by the fields they become.
func parameters(m namespaces.Mapping, schema json.RawMessage) string {
	doc := jsonschema.Parse(schema)
	required := doc.Root().Get("required").Words()
	if doc == nil {
		required = m.Positional // nothing is known to be optional
	}
	var list []string
	for _, name := range m.Positional {
		shown := text.Cut(name, 64)
		if !slices.Contains(required, name) {
			shown += "?"
		}
		list = append(list, shown)
	}
	if m.Rest != "" {
		list = append(list, "..."+text.Cut(m.Rest, 64))
	}
	if m.Options {
		list = append(list, "options?")
	}
	return strings.Join(list, ", ")
}
