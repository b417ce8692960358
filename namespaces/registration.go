package namespaces

import (
	"context"
	"encoding/json"
)

// RunContext is who a scope is made for: the caller's identity and the
// configuration its plugin may see. It carries no authority.
type RunContext struct {
	AgentID    string          `json:"agentId"`
	SessionKey string          `json:"sessionKey"`
	SessionID  string          `json:"sessionId"`
	RunID      string          `json:"runId"`
	Config     json.RawMessage `json:"config,omitempty"`
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
