package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
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

// Difference is how the tools that a server offers differ from those that were pinned.
type Difference struct {
	Server  string   `json:"server"`
	Changes []Change `json:"changes"`
	// Findings are what is suspicious about the tools as they are offered.
	Findings []Finding `json:"findings,omitempty"`

	offered pinnedTools
}

// Difference compares what a server offers now with what was pinned. The server must be
// connected. A server whose pinning is off has no difference.
func (s *Servers) Difference(server string) (*Difference, error) {
	k, err := s.keeper(server)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	connected := k.conn != nil
	d := &Difference{Server: k.name, Changes: slices.Clone(k.status.Changes), Findings: slices.Clone(k.status.Findings), offered: k.offered}
	k.mu.Unlock()
	if !connected {
		return nil, &Error{Code: CodeUnavailable, Server: k.name, Message: fmt.Sprintf("MCP server %s is not connected.", k.name)}
	}
	if k.server.Pin == PinOff {
		return d, nil
	}
	names, err := k.pins.others(context.Background())
	if err != nil {
		return nil, fmt.Errorf("the pins of other MCP servers: %w", err)
	}
	maps.Copy(names, s.names())
	d.Findings = append(d.Findings, lookalikes(names)[k.name]...)
	return d, nil
}

// Accept pins the tools of a server as the difference shows them. Tools that have changed
// once more since then stay in quarantine. Other processes that keep pins in the same
// directory take note within seconds.
func (s *Servers) Accept(d *Difference) error {
	k, err := s.keeper(d.Server)
	if err != nil {
		return err
	}
	if k.server.Pin == PinOff {
		return nil
	}
	if err := k.pins.store(context.Background(), d.offered); err != nil {
		return fmt.Errorf("pinning the tools of MCP server %s: %w", k.name, err)
	}
	k.relist()
	return nil
}

// Quarantined counts the tools that do not exist until they are accepted.
func (s Status) Quarantined() (n int) {
	for _, c := range s.Changes {
		if c.Quarantined {
			n++
		}
	}
	return n
}

// Notice says in a sentence that tools of the server wait to be accepted, and what to do;
// "" if none does.
func (s Status) Notice() string {
	var names []string
	for _, c := range s.Changes {
		if c.Quarantined {
			names = append(names, fmt.Sprintf("%.80q", c.Tool))
		}
	}
	if len(names) == 0 {
		return ""
	}
	const most = 5
	what := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		what += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return fmt.Sprintf("tools that are new or have changed do not exist until you accept them: %s; see the difference and accept with: quoin mcp accept %s", what, s.Name)
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

// judge compares what a server offers with its pins, which it makes on first sight.
//
// It fails closed: pins that cannot be read or written leave a server without tools.
func (k *keeper) judge(ctx context.Context, offered pinnedTools) ([]Change, error) {
	if k.server.Pin == PinOff {
		return nil, nil
	}
	pinned, err := k.pins.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("the pins of its tools: %w", err)
	}
	isTool := func(name string) bool { return !strings.HasPrefix(name, " ") }
	if pinned == nil && !slices.ContainsFunc(offered.names(), isTool) {
		return nil, nil // no tool was seen yet, as of a server that first wants a sign-in
	}
	if pinned == nil {
		err := k.pins.start(ctx, offered)
		if errors.Is(err, fs.ErrExist) { // another process was first
			if pinned, err = k.pins.load(ctx); pinned == nil && err == nil {
				err = errors.New("the file of its pins leads nowhere; remove it")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("pinning its tools: %w", err)
		}
		if pinned == nil {
			return nil, nil
		}
	}
	changes := pinned.changes(offered)
	for i := range changes {
		changes[i].Quarantined = k.server.Pin == PinBlock && changes[i].Kind != ToolRemoved
	}
	return changes, nil
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
