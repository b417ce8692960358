package plugins

import (
	"context"
	"encoding/json"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
)

type (
	createScope = func(ctx context.Context, rc namespaces.RunContext) (any, error)
	mapInput    = func(ctx context.Context, rc namespaces.RunContext, mapper string, args []json.RawMessage) (json.RawMessage, error)
)

// registration is a plugin's namespace as the registry wants it.
func registration(pluginID string, n protocol.NamespaceInfo, create createScope, mapper mapInput) namespaces.Registration {
	return namespaces.Registration{
		PluginID:      pluginID,
		ID:            n.ID,
		GlobalName:    n.GlobalName,
		Description:   n.Description,
		Prompt:        n.Prompt,
		RequiredTools: n.RequiredTools,
		CreateScope:   create,
		MapInput:      mapper,
	}
}
