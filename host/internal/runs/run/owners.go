package run

import "github.com/quoinhq/quoin/host/catalog"

// Owners are written with their source, as in the ids of tools.
const (
	OfPlugins = string(catalog.SourceQuoin) + ":"
	OfServers = string(catalog.SourceMCP) + ":"
	OfCallers = string(catalog.SourceClient) + ":"
)
