package mcpcmd

import (
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/namespaces"
)

// promptCost is about how many tokens of a prompt a server costs.
type promptCost struct {
	// Tools is how many tools the server has, without the operations on resources and
	// prompts.
	Tools int `json:"tools"`
	// Raw is what the names, descriptions and input schemas of its tools cost where each
	// is a tool of the model's.
	Raw int `json:"raw"`
	// Quoin is what the server adds to exec.
	Quoin int `json:"quoin"`
	// Base is what exec and wait cost without any server.
	Base int `json:"base"`
}

// costOf estimates the cost of a server, and returns its tools as programs see them.
func costOf(server string, tools []mcp.Tool, s host.Settings) (promptCost, []catalog.Entry, error) {
	var cost promptCost
	var offered []catalog.Tool
	for _, t := range tools {
		if t.Operation == "" {
			cost.Tools++
			cost.Raw += len(t.Name) + len(t.Description) + len(t.Input)
		}
		offered = append(offered, catalog.Tool{Name: t.Name, Description: t.Description, Source: catalog.SourceMCP, Owner: t.Server, Parameters: t.Input, Output: t.Output})
	}
	_, base, err := definitionBytes("", nil, s)
	if err != nil {
		return cost, nil, err
	}
	v, all, err := definitionBytes(server, offered, s)
	if err != nil {
		return cost, nil, err
	}
	cost.Raw, cost.Quoin, cost.Base = cost.Raw/output.BytesPerToken, (all-base)/output.BytesPerToken, base/output.BytesPerToken
	return cost, v.Entries(), nil
}

// definitionBytes is the length of exec and wait as a model sees them.
func definitionBytes(server string, tools []catalog.Tool, s host.Settings) (*view.View, int, error) {
	c, err := catalog.New(tools, catalog.Options{})
	if err != nil {
		return nil, 0, err
	}
	v := view.New(c, &namespaces.Registry{}, view.MCPServerIdentifiers([]string{server}))
	n := 0
	exec, wait := modeltools.Definitions(modeltools.Offer{Catalog: c, MCP: func(room int) string { return view.MCPBlock(v, room) }}, s)
	for _, t := range []catalog.Tool{exec, wait} {
		n += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return v, n, nil
}
