package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Difference is how the tools that a server offers differ from those that were pinned.
type Difference struct {
	Server  string   `json:"server"`
	Changes []Change `json:"changes"`
	// Findings are what is suspicious about the tools as they are offered.
	Findings []Finding `json:"findings,omitempty"`

	offered pinnedTools
}

// Difference compares what a server offers now with what was pinned. The server must be
// connected. A server with pinning off has no difference.
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
