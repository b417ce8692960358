package plugins

import (
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// OwnedTool is a tool and the plugin it belongs to.
type OwnedTool struct {
	PluginID string
	protocol.ToolInfo

	of *protocol.Description // that it is from
}

// Offer is what one generation of a plugin offers. The functions of Namespaces
// call the generation that is there when they are called.
type Offer struct {
	PluginID     string
	Tools        []OwnedTool               // sorted by name
	Namespaces   []namespaces.Registration // sorted by id
	Capabilities protocol.Capabilities
}
