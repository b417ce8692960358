package mcp

import (
	"cmp"
	"maps"
	"slices"
)

// Pinning says what happens to tools that are not what they were when the server was
// first seen, or when a person last accepted them.
type Pinning string

// The ways of pinning.
const (
	PinBlock Pinning = "block" // they are quarantined: they do not exist until they are accepted
	PinWarn  Pinning = "warn"  // they exist, and the log and the status name them
	PinOff   Pinning = "off"   // nothing is remembered
)

// ChangeKind says how a tool differs from what was pinned.
type ChangeKind string

// The kinds of a Change.
const (
	ToolAdded   ChangeKind = "added"
	ToolChanged ChangeKind = "changed"
	ToolRemoved ChangeKind = "removed"
)

// Change is a tool that is not what was pinned.
type Change struct {
	Tool string     `json:"tool"`
	Kind ChangeKind `json:"kind"`
	// Fields are what differs; of a tool that is added, all that it has.
	Fields []FieldChange `json:"fields,omitempty"`
	// Quarantined is set when the tool does not exist until it is accepted.
	Quarantined bool `json:"quarantined,omitempty"`
}

// FieldChange is one part of a tool, such as inputSchema, as JSON text. A text that is very
// long is replaced by its checksum; an empty one says that the tool has no such part.
type FieldChange struct {
	Field   string `json:"field"`
	Pinned  string `json:"pinned"`
	Offered string `json:"offered"`
}

// pinnedTool is what is pinned of a tool: each part as JSON text, "" without it.
type pinnedTool struct {
	Title        string
	Description  string
	InputSchema  string
	OutputSchema string
	Annotations  string
}

// pinnedTools are the tools of one server by name.
type pinnedTools map[string]pinnedTool

// parts are the parts of a tool, by the name that the protocol gives them.
func (p pinnedTool) parts() [5]FieldChange {
	return [...]FieldChange{
		{Field: "title", Offered: p.Title},
		{Field: "description", Offered: p.Description},
		{Field: "inputSchema", Offered: p.InputSchema},
		{Field: "outputSchema", Offered: p.OutputSchema},
		{Field: "annotations", Offered: p.Annotations},
	}
}

// changes lists how the offered tools differ from the pinned ones, by name.
func (pinned pinnedTools) changes(offered pinnedTools) []Change {
	var out []Change
	for name, tool := range offered {
		before, known := pinned[name]
		switch {
		case !known:
			out = append(out, Change{Tool: name, Kind: ToolAdded, Fields: pinnedTool{}.compare(tool)})
		case before != tool:
			out = append(out, Change{Tool: name, Kind: ToolChanged, Fields: before.compare(tool)})
		}
	}
	for name := range pinned {
		if _, there := offered[name]; !there {
			out = append(out, Change{Tool: name, Kind: ToolRemoved})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return cmp.Compare(a.Tool, b.Tool) })
	return out
}

// compare lists the parts in which two tools differ.
func (p pinnedTool) compare(offered pinnedTool) []FieldChange {
	var out []FieldChange
	before, now := p.parts(), offered.parts()
	for i := range now {
		if before[i].Offered != now[i].Offered {
			out = append(out, FieldChange{Field: now[i].Field, Pinned: before[i].Offered, Offered: now[i].Offered})
		}
	}
	return out
}

// released returns the tools that are not in quarantine.
func released(tools []Tool, changes []Change) []Tool {
	held := map[string]bool{}
	for _, c := range changes {
		held[c.Tool] = c.Quarantined
	}
	return slices.DeleteFunc(tools, func(t Tool) bool { return held[cmp.Or(operationPins[t.Operation], t.offeredName())] })
}

// sameChange reports whether two changes say the same.
func sameChange(a, b Change) bool {
	return a.Tool == b.Tool && a.Kind == b.Kind && a.Quarantined == b.Quarantined && slices.Equal(a.Fields, b.Fields)
}

// names are the pinned names in order.
func (pinned pinnedTools) names() []string { return slices.Sorted(maps.Keys(pinned)) }

// has reports whether something of a name is pinned.
func (pinned pinnedTools) has(name string) bool {
	_, ok := pinned[name]
	return ok
}
