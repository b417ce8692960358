package pipeline

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/internal/wire"
)

// oneObject refuses arguments that are not one object, in the words of the guest.
const oneObject = "MCP namespace tools accept one object argument."

// mcpTool finds the tool that a call through MCP means. A tool has a path of one
// segment, an operation one of two.
func (r *Run) mcpTool(c *calls.Entry) (*catalog.Tool, bool) {
	var name string
	switch len(c.Path) {
	case 1:
		name = c.Path[0]
		if _, operation := view.MCPOperations[name]; operation {
			return nil, false
		}
	case 2:
		for n, op := range view.MCPOperations {
			if slices.Equal(op[:], c.Path) {
				name = n
			}
		}
	}
	if name == "" || strings.Contains(c.Target, ":") {
		return nil, false
	}
	return r.View().Catalog.ByID(string(catalog.SourceMCP) + ":" + c.Target + ":" + name)
}

// mcpInput makes the input of an MCP tool of the arguments of a call: at most
// one object, with the schema's defaults filled in and every required name there.
func mcpInput(tool *catalog.Tool, args json.RawMessage) (json.RawMessage, *fault.Rejection) {
	var list []json.RawMessage
	if err := json.Unmarshal(args, &list); err != nil || len(list) > 1 {
		return nil, fault.Reject(string(catalog.InvalidInput), oneObject)
	}
	object := json.RawMessage("{}")
	if len(list) == 1 {
		object = bytes.TrimSpace(list[0])
	}
	if len(object) == 0 || object[0] != '{' {
		return nil, fault.Reject(string(catalog.InvalidInput), oneObject)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(object, &given); err != nil {
		return nil, fault.Reject(string(catalog.InvalidInput), oneObject)
	}
	schema := jsonschema.Parse(tool.Parameters).Root() // of one that cannot be read, validation tells
	object = withDefaults(object, given, schema.Get("properties").Fields())
	var missing []string
	for _, name := range schema.Get("required").Words() {
		if _, ok := given[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fault.Reject(string(catalog.InvalidInput), "%s", codemode.BoundMessage("Missing required MCP namespace argument(s): "+strings.Join(missing, ", ")+". Expected "+catalog.Shape(tool.Parameters)+"."))
	}
	return object, nil
}

// withDefaults appends the defaults of the names that are absent, and notes them
// as given.
func withDefaults(object json.RawMessage, given map[string]json.RawMessage, properties []jsonschema.Member) json.RawMessage {
	var b bytes.Buffer
	b.Write(bytes.TrimSuffix(object, []byte("}")))
	first := len(given) == 0
	for _, p := range properties {
		def := p.Value.Get("default")
		if _, ok := given[p.Key]; ok || def == nil {
			continue
		}
		name, err := json.Marshal(p.Key)
		if err != nil {
			continue // strings always can be encoded
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.Write(name)
		b.WriteByte(':')
		b.Write(def.Raw)
		given[p.Key] = def.Raw
	}
	b.WriteByte('}')
	return b.Bytes()
}

// Identify notes which tool a call means before the store hears of the call: whether it
// is harmless to make it again depends on the tool. A call that
// means no tool is refused once its turn comes. The caller holds calls.mu.
func (r *Run) Identify(c *calls.Entry) {
	if c.Tool != "" || !c.IsTool() {
		return
	}
	switch wire.Method(c.Method) {
	case wire.MethodProgram:
		c.Tool = programs.Prefix + c.Target
		return
	case wire.MethodSave:
		c.Tool = SaveTool.ID()
		return
	}
	if wire.Method(c.Method) == wire.MethodMCP {
		if tool, ok := r.mcpTool(c); ok {
			c.Tool = tool.ID()
		}
		return
	}
	if wire.Method(c.Method) == wire.MethodCall {
		if tool, err := r.View().Catalog.Resolve(c.Target); err == nil {
			c.Tool = tool.ID()
		}
		return
	}
	reg, known := r.View().Namespace(c.Target)
	scope := r.Scopes.Get(c.Target)
	if !known || scope == nil {
		return
	}
	if target, err := scope.Resolve(c.Path); err == nil {
		if tool, ok := r.View().Catalog.ByOwner(target.Tool, reg.PluginID); ok {
			c.Tool = tool.ID()
		}
	}
}
