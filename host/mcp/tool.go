package mcp

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Tool is what a server offers: one of its tools, or an operation on its
// resources or prompts. Its bytes are shared: do not change them.
type Tool struct {
	Server string
	// Name is what the server calls the tool, 1 to 256 printable bytes, or the
	// name of the operation. It is unique among the tools of its server. A tool
	// that has the name of an operation gets another, such as resources_list_tool.
	Name string
	// offered is the name that the server has for it, if Name is another.
	offered string
	// Operation is set for operations, and equal to Name.
	Operation Operation
	// Title is for people. Optional.
	Title       string
	Description string
	// Input is the JSON Schema of the argument, always an object. Output is the schema of
	// structuredContent, if the server gave one.
	Input, Output json.RawMessage
	// ReadOnly and Idempotent are promises: of the protocol for operations, and for
	// tools of the server, where its hints are trusted.
	ReadOnly, Idempotent bool
}

// Operation names what cells can do with a server besides calling its tools.
type Operation string

// The operations. Each takes the parameters of the protocol's method of that
// name.
const (
	ResourcesList Operation = "resources_list"
	ResourcesRead Operation = "resources_read"
	PromptsList   Operation = "prompts_list"
	PromptsGet    Operation = "prompts_get"
)

const cursorSchema = `{"type":"object","properties":{"cursor":{"type":"string","description":"Where to go on: nextCursor of the previous answer."}},"additionalProperties":false}`

// operations describes each operation; the server is filled in.
var operations = []Tool{
	{Name: string(ResourcesList), Operation: ResourcesList, Description: "List the resources of this server, a page at a time.", Input: json.RawMessage(cursorSchema)},
	{Name: string(ResourcesRead), Operation: ResourcesRead, Description: "Read one resource of this server.", Input: json.RawMessage(
		`{"type":"object","properties":{"uri":{"type":"string","description":"The uri of a resource, as resources.list gives it."}},"required":["uri"],"additionalProperties":false}`)},
	{Name: string(PromptsList), Operation: PromptsList, Description: "List the prompts of this server, a page at a time.", Input: json.RawMessage(cursorSchema)},
	{Name: string(PromptsGet), Operation: PromptsGet, Description: "Get one prompt of this server, filled in.", Input: json.RawMessage(
		`{"type":"object","properties":{"name":{"type":"string","description":"The name of a prompt, as prompts.list gives it."},` +
			`"arguments":{"type":"object","description":"Values for the prompt's arguments.","additionalProperties":{"type":"string"}}},"required":["name"],"additionalProperties":false}`)},
}

// offeredName is what the server calls a tool.
func (t *Tool) offeredName() string { return cmp.Or(t.offered, t.Name) }

// operationPins are the names under which operations are pinned. No tool has them, because
// they start with a space.
var operationPins = map[Operation]string{ResourcesList: " resources", ResourcesRead: " resources", PromptsList: " prompts", PromptsGet: " prompts"}

// isOperation reports whether a name is an operation's name.
func isOperation(name string) bool {
	return slices.ContainsFunc(operations, func(op Tool) bool { return op.Name == name })
}

// operationsOf returns the operations of a server that has resources, prompts or
// both.
func operationsOf(server string, resources, prompts bool) []Tool {
	var out []Tool
	for _, op := range operations {
		if resources && (op.Operation == ResourcesList || op.Operation == ResourcesRead) ||
			prompts && (op.Operation == PromptsList || op.Operation == PromptsGet) {
			op.Server, op.ReadOnly, op.Idempotent = server, true, true
			out = append(out, op)
		}
	}
	return out
}

// sameTools reports whether two lists say the same.
func sameTools(a, b []Tool) bool {
	return slices.EqualFunc(a, b, func(a, b Tool) bool {
		return a.Server == b.Server && a.Name == b.Name && a.Operation == b.Operation && a.Title == b.Title &&
			a.Description == b.Description && a.ReadOnly == b.ReadOnly && a.Idempotent == b.Idempotent &&
			string(a.Input) == string(b.Input) && string(a.Output) == string(b.Output)
	})
}
