package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/text"
)

// Bounds of what a caller may bring to one run.
const (
	maxClientTools = 256
	maxClientBytes = 1 << 20 // of all definitions, as JSON
)

// callback answers calls of one tool in this process.
type callback = func(context.Context, catalog.Invocation) (json.RawMessage, error)

// ClientTools are the tools that the caller of one run brought; nil without
// them. It is immutable.
type ClientTools struct {
	definitions []catalog.Tool // without Invoke, so that views of them hold nothing of a run
	Callbacks   map[string]callback
	Lost        map[string]bool // had a callback in a process that is gone
	record      json.RawMessage
	Turn        *requestTools // not nil: they are the tools of a model request
}

// clientTool is one definition as records keep it.
type clientTool struct {
	Name        string            `json:"name"`
	Label       string            `json:"label,omitempty"`
	Description string            `json:"description,omitempty"`
	Owner       string            `json:"owner,omitempty"`
	Parameters  json.RawMessage   `json:"parameters,omitempty"`
	Output      json.RawMessage   `json:"output,omitempty"`
	ReadOnly    bool              `json:"readOnly,omitempty"`
	Idempotent  bool              `json:"idempotent,omitempty"`
	Examples    []catalog.Example `json:"examples,omitempty"`
	Callback    bool              `json:"callback,omitempty"`
}

// NewClientTools checks the definitions that a caller gave, one by one, so that
// what is wrong is said of the right one.
func NewClientTools(tools []catalog.Tool) (*ClientTools, *codemode.Error) {
	if len(tools) == 0 {
		return nil, nil
	}
	bad := func(format string, args ...any) *codemode.Error {
		return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput, "%s", codemode.BoundMessage(fmt.Sprintf(format, args...)))
	}
	if len(tools) > maxClientTools {
		return nil, bad("the caller brings %d tools; at most %d are allowed", len(tools), maxClientTools)
	}
	c := &ClientTools{Callbacks: make(map[string]callback)}
	stored := make([]clientTool, 0, len(tools))
	size := 0
	for i, t := range tools {
		if err := checkClientTool(t); err != nil {
			return nil, bad("tools[%d]: %v", i, err)
		}
		t.Source = catalog.SourceClient
		if t.Owner == "" {
			t.Owner = catalog.OwnerClient
		}
		if t.Invoke != nil {
			c.Callbacks[t.ID()] = t.Invoke
		}
		stored = append(stored, clientTool{t.Name, t.Label, t.Description, t.Owner, t.Parameters, t.Output,
			t.ReadOnly, t.Idempotent, t.Examples, t.Invoke != nil})
		t.Invoke = nil
		c.definitions = append(c.definitions, t)
		size += definitionBytes(t)
	}
	if size > maxClientBytes {
		return nil, bad("the definitions of the caller's tools have %d bytes; at most %d are allowed", size, maxClientBytes)
	}
	if _, err := catalog.New(c.definitions, catalog.Options{}); err != nil {
		return nil, bad("tools: %v", err)
	}
	record, err := json.Marshal(stored)
	if err != nil {
		return nil, bad("tools: %v", err)
	}
	c.record = record
	return c, nil
}

func definitionBytes(t catalog.Tool) int {
	n := len(t.Name) + len(t.Owner) + len(t.Label) + len(t.Description) + len(t.Parameters) + len(t.Output)
	for _, e := range t.Examples {
		n += len(e.Description) + len(e.Input) + len(e.Output)
	}
	return n
}

// checkClientTool checks one definition.
func checkClientTool(t catalog.Tool) error {
	if t.Source != "" && t.Source != catalog.SourceClient {
		return fmt.Errorf("tool %q has the source %q; those of a caller have the source %q: leave it out", text.Cut(t.Name, 64), t.Source, catalog.SourceClient)
	}
	if catalog.IsControl(t.Name) {
		return fmt.Errorf("%q is the name of a tool of discovery, which no program can call: rename it", t.Name)
	}
	t.Source = catalog.SourceClient
	if definitionBytes(t) > maxClientBytes {
		return fmt.Errorf("its definition has more than %d bytes", maxClientBytes)
	}
	return catalog.Check(t)
}

// key identifies the definitions; equal ones may share a view.
func (c *ClientTools) key() string {
	if c == nil {
		return ""
	}
	if c.Turn != nil {
		return c.Turn.digest
	}
	sum := sha256.Sum256(c.record)
	return hex.EncodeToString(sum[:])
}

// Stored is what a record keeps.
func (c *ClientTools) Stored() json.RawMessage {
	if c == nil {
		return nil
	}
	return c.record
}

// loadClientTools makes clientTools of a record. Callbacks ended with the process
// that had them.
func loadClientTools(record json.RawMessage) (*ClientTools, error) {
	if len(record) == 0 {
		return nil, nil
	}
	var stored []clientTool
	if err := json.Unmarshal(record, &stored); err != nil {
		return nil, errStoredAccess
	}
	c := &ClientTools{record: record, Lost: make(map[string]bool)}
	for _, t := range stored {
		d := catalog.Tool{Name: t.Name, Label: t.Label, Description: t.Description, Source: catalog.SourceClient, Owner: t.Owner,
			Parameters: t.Parameters, Output: t.Output, ReadOnly: t.ReadOnly, Idempotent: t.Idempotent, Examples: t.Examples}
		if t.Callback {
			c.Lost[d.ID()] = true
		}
		c.definitions = append(c.definitions, d)
	}
	return c, nil
}

// Asks reports whether the caller itself answers calls of a tool.
func (c *ClientTools) Asks(id string) bool {
	if c == nil || c.Lost[id] || c.Callbacks[id] != nil {
		return false
	}
	return slices.ContainsFunc(c.definitions, func(t catalog.Tool) bool { return t.ID() == id })
}
