package plugins

import "github.com/quoinhq/quoin/internal/trust"

// PublicKey is an ed25519 key that vouches for plugins. It can be compared and be the key
// of a map. The zero value is no key: it stands for an unsigned plugin.
type PublicKey = trust.PublicKey

// ParsePublicKey reads a key as "quoin plugin keygen" prints it: "ed25519:" and base64.
func ParsePublicKey(text string) (PublicKey, error) { return trust.ParsePublicKey(text) }
