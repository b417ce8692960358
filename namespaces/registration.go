package namespaces

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// RunContext is who a scope is made for: the caller's identity and the
// configuration its plugin may see. It carries no authority.
type RunContext struct {
	AgentID    string `json:"agentId"`
	SessionKey string `json:"sessionKey"`
	SessionID  string `json:"sessionId"`
	// RunID is the run of code mode. TurnID is the agent's turn that it belongs to; empty
	// if the gateway does not name a turn, or the host is older than the field.
	RunID  string          `json:"runId"`
	TurnID string          `json:"turnId,omitempty"`
	Config json.RawMessage `json:"config,omitempty"`
}

// Registration is one namespace as its plugin offers it. The Registry keeps a
// copy; changing a Registration afterwards has no effect.
type Registration struct {
	// PluginID is the owner: the plugin that also owns every required tool.
	PluginID string
	// ID names the namespace to hosts and logs: ASCII letters, digits, '.',
	// '_', '-', at most 128 bytes.
	ID string
	// GlobalName is the JavaScript identifier guests reach it by.
	GlobalName string
	// Description is one line for the model, at most 4 KiB.
	Description string
	// Prompt teaches the model the verbs, at most 16 KiB. Optional.
	Prompt string
	// RequiredTools are the names of the owner's tools behind the verbs; at
	// least one. All must be visible in a run for the namespace to be.
	RequiredTools []string

	// CreateScope makes the scope of one run: plain data and Call markers for
	// Serialize, or a *Scope. It runs once per run, possibly in several runs
	// at a time, and never under a lock of this package.
	CreateScope func(ctx context.Context, rc RunContext) (any, error)
	// MapInput applies the mapper of a MapFunction mapping. Nil if the
	// namespace has no such mapping.
	MapInput func(ctx context.Context, rc RunContext, mapper string, args []json.RawMessage) (json.RawMessage, error)
}

// Limits of the text a namespace may put before the model, in bytes.
const (
	maxDescriptionBytes = 4 << 10
	maxPromptBytes      = 16 << 10
)

// validate checks everything about a registration that does not depend on
// other registrations.
func (reg *Registration) validate() error {
	if reg.PluginID == "" || !isToolName(reg.PluginID) || strings.Contains(reg.PluginID, ":") {
		return reg.refuse(InvalidPluginID, "plugin id %s is not usable; it must be a printable name without ':'", quoteName(reg.PluginID))
	}
	if !isPlainID(reg.ID) {
		return reg.refuse(InvalidID, "the id must start with a letter or digit and hold only letters, digits, '.', '_' and '-', at most %d bytes", maxNameBytes)
	}
	if len(reg.GlobalName) > maxNameBytes || !IsIdentifier(reg.GlobalName) {
		return reg.refuse(NotIdentifier, "globalName %s must be a JavaScript identifier of at most %d bytes", quoteName(reg.GlobalName), maxNameBytes)
	}
	if why := reservedBecause(reg.GlobalName); why != "" {
		return reg.refuse(ReservedGlobal, "globalName %q is reserved: it %s; choose another name", reg.GlobalName, why)
	}
	if len(reg.RequiredTools) == 0 {
		return reg.refuse(NoRequiredTools, "requiredToolNames must include at least one tool name")
	}
	for _, tool := range reg.RequiredTools {
		if !isToolName(tool) {
			return reg.refuse(InvalidToolName, "required tool %s is not a usable tool name", quoteName(tool))
		}
	}
	return reg.validateBody()
}

// validateBody checks the text for the model and the functions.
func (reg *Registration) validateBody() error {
	if len(reg.Description) > maxDescriptionBytes {
		return reg.refuse(TextTooLong, "the description has %d bytes; the limit is %d", len(reg.Description), maxDescriptionBytes)
	}
	if len(reg.Prompt) > maxPromptBytes {
		return reg.refuse(TextTooLong, "the prompt has %d bytes; the limit is %d", len(reg.Prompt), maxPromptBytes)
	}
	if reg.CreateScope == nil {
		return reg.refuse(NoScope, "CreateScope is missing; a namespace without a scope has nothing to offer")
	}
	return nil
}

// refuse makes the error of a refused registration.
func (reg *Registration) refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Namespace: reg.ID, Message: fmt.Sprintf(format, args...)}
}

// clone copies what a caller could otherwise change later, and drops repeated
// required tools.
func (reg *Registration) clone() *Registration {
	c := *reg
	c.RequiredTools = make([]string, 0, len(reg.RequiredTools))
	for _, tool := range reg.RequiredTools {
		if !slices.Contains(c.RequiredTools, tool) {
			c.RequiredTools = append(c.RequiredTools, tool)
		}
	}
	return &c
}
