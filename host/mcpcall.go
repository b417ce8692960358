package host

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
)

// oneObject refuses arguments that are not one object, in the words of the guest.
const oneObject = "MCP namespace tools accept one object argument."

// mcpTool finds the tool that a call through MCP means. A tool has a path of one
// segment, an operation one of two.
func (r *run) mcpTool(c *call) (*catalog.Tool, bool) {
	var name string
	switch len(c.Path) {
	case 1:
		name = c.Path[0]
		if _, operation := mcpOperations[name]; operation {
			return nil, false
		}
	case 2:
		for n, op := range mcpOperations {
			if slices.Equal(op[:], c.Path) {
				name = n
			}
		}
	}
	if name == "" || strings.Contains(c.Target, ":") {
		return nil, false
	}
	return r.view().catalog.ByID(string(catalog.SourceMCP) + ":" + c.Target + ":" + name)
}

// mcpPath is how the guest writes a tool, for events.
func (v *view) mcpPath(tool *catalog.Tool) string {
	for _, s := range v.mcp() {
		if s.name != tool.Owner {
			continue
		}
		for i := range s.tools {
			if s.tools[i].tool.Name == tool.Name {
				return "MCP." + s.identifier + "." + s.tools[i].path()
			}
		}
	}
	return ""
}

// mcpInput makes the input of an MCP tool of the arguments of a call: one object
// or none, with the schema's defaults filled in and every required name there.
func mcpInput(tool *catalog.Tool, args json.RawMessage) (json.RawMessage, *callError) {
	var list []json.RawMessage
	if err := json.Unmarshal(args, &list); err != nil || len(list) > 1 {
		return nil, rejectf(string(catalog.InvalidInput), oneObject)
	}
	object := json.RawMessage("{}")
	if len(list) == 1 {
		object = bytes.TrimSpace(list[0])
	}
	if len(object) == 0 || object[0] != '{' {
		return nil, rejectf(string(catalog.InvalidInput), oneObject)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(object, &given); err != nil {
		return nil, rejectf(string(catalog.InvalidInput), oneObject)
	}
	properties, required := schemaFields(tool.Parameters)
	object = withDefaults(object, given, properties)
	var missing []string
	for _, name := range required {
		if _, ok := given[name]; !ok && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, rejectf(string(catalog.InvalidInput), "%s", boundError("Missing required MCP namespace argument(s): "+strings.Join(missing, ", ")+". Expected "+catalog.Shape(tool.Parameters)+"."))
	}
	return object, nil
}

// property is a property of a schema, as far as calls need it.
type property struct {
	name string
	def  json.RawMessage // nil: none
}

// schemaFields returns the properties of a schema, in its order, and the names it
// requires. Of one that it cannot read it returns nothing: validation tells.
func schemaFields(schema json.RawMessage) (properties []property, required []string) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   json.RawMessage `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil, nil
	}
	if json.Unmarshal(s.Required, &required) != nil {
		required = nil
	}
	dec := json.NewDecoder(bytes.NewReader(s.Properties))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, required
	}
	for dec.More() {
		name, err := dec.Token()
		var p json.RawMessage
		if err != nil || dec.Decode(&p) != nil {
			break
		}
		var d struct {
			Default json.RawMessage `json:"default"`
		}
		if json.Unmarshal(p, &d) == nil && d.Default != nil {
			if text, ok := name.(string); ok {
				properties = append(properties, property{text, d.Default})
			}
		}
	}
	return properties, required
}

// withDefaults appends the defaults of the names that are absent, and notes them
// as given.
func withDefaults(object json.RawMessage, given map[string]json.RawMessage, properties []property) json.RawMessage {
	var b bytes.Buffer
	b.Write(bytes.TrimSuffix(object, []byte("}")))
	first := len(given) == 0
	for _, p := range properties {
		if _, ok := given[p.name]; ok {
			continue
		}
		name, err := json.Marshal(p.name)
		if err != nil {
			continue // strings always can be encoded
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.Write(name)
		b.WriteByte(':')
		b.Write(p.def)
		given[p.name] = p.def
	}
	b.WriteByte('}')
	return b.Bytes()
}
