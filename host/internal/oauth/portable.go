package oauth

import (
	"encoding/json"

	"github.com/quoinhq/quoin/internal/documents"
)

// Portable returns what is carried when a state is moved. Registrations say which
// authorization server a client belongs to, so that they stay where they are, too.
func (c *Client) Portable() []documents.Portable {
	docs := c.store.docs
	return []documents.Portable{
		{Store: docs, Kind: "registration", Ext: clientExt, Stays: true, Remade: true},
		{Store: docs, Kind: "sign-in link", Ext: flowExt, Locked: true},
		{Store: docs, Kind: "sign-in", Ext: grantExt, Locked: true, Title: func(content []byte) string {
			var g grant
			_ = json.Unmarshal(content, &g) // without a server it is called by its name
			return g.Server
		}},
	}
}
