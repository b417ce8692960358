package protocol

import "encoding/json"

// Description is what a plugin says about itself. It must not change while the
// process lives.
type Description struct {
	ID          string
	Version     string
	Description string
	Tools       []ToolInfo
	Namespaces  []NamespaceInfo
	Capabilities
}

// Tool returns the tool with the given name.
func (d *Description) Tool(name string) (*ToolInfo, bool) {
	for i := range d.Tools {
		if d.Tools[i].Name == name {
			return &d.Tools[i], true
		}
	}
	return nil, false
}

// ToolInfo describes one tool.
type ToolInfo struct {
	Name        string
	Label       string
	Description string
	// Parameters is the JSON Schema of the input, always of type object.
	Parameters json.RawMessage
	// Output is the JSON Schema of the result; nil when the tool makes no
	// promise.
	Output json.RawMessage
	// ReadOnly: a call changes nothing.
	ReadOnly bool
	// Idempotent: repeating a call with the same idempotency key changes
	// nothing more.
	Idempotent bool
	// Revertible: a call that has changed something says how it is undone.
	Revertible bool
	Examples   []Example
}

// Example is one worked use of a tool.
type Example struct {
	Description string
	Input       json.RawMessage
	Output      json.RawMessage // nil when not given
}

// NamespaceInfo describes one namespace: a global object for guests. Its calls
// lead to tools of the same plugin.
type NamespaceInfo struct {
	ID            string
	GlobalName    string
	Description   string
	Prompt        string
	RequiredTools []string
	// Scope is the tagged JSON tree of the namespace's scope if it is the same
	// in every run; nil when the host must ask for it in each.
	Scope json.RawMessage
}
