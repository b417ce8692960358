package pipeline

import (
	"encoding/json"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/programs"
)

// SaveTool stands for programs.save in rules, hooks and events.
var SaveTool = catalog.Tool{
	Name: "save_program", Description: "Saves the program of a completed run under a name.", Source: catalog.SourceQuoin, Owner: catalog.OwnerCore,
	Parameters: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["name"],"properties":{` +
		`"name":{"type":"string"},"runId":{"type":"string"},"description":{"type":"string"},"input":{"type":"object"},"example":{"type":"object"},"replace":{"type":"boolean"}}}`),
}

// IsProgramTool reports whether an id is the id of a saved program, or of saving one. A
// catalog has neither.
func IsProgramTool(id string) bool {
	return strings.HasPrefix(id, programs.Prefix) || id == SaveTool.ID()
}

// programTool is a saved program as rules, hooks and events see it.
func programTool(p *programs.Program) *catalog.Tool {
	return &catalog.Tool{
		Name: p.Name, Description: strings.TrimSpace("Saved program. " + p.Description),
		Source: catalog.SourceQuoin, Owner: programs.Owner, Parameters: p.Input,
	}
}

// programEntry is a saved program as guests see it.
type programEntry struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"`
}

func entryOf(p *programs.Program) programEntry { return programEntry{p.Name, p.Description, p.Input} }
