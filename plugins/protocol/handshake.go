package protocol

import goplugin "github.com/hashicorp/go-plugin"

// ServiceName is the name under which the plugin service is dispensed.
const ServiceName = "quoin"

// MaxMessageBytes is the largest message either side accepts: 16 MiB.
const MaxMessageBytes = 16 << 20

// windowBytes is how much either side may send ahead of being read. That it is
// fixed keeps gRPC from measuring the connection, for which it would send a ping
// along with every call.
const windowBytes = 1 << 20

// Environment variables the host sets for a plugin process besides TZ, HOME
// and TMPDIR.
const (
	// EnvPluginDir is the folder that holds the plugin's manifest.
	EnvPluginDir = "QUOIN_PLUGIN_DIR"
	// EnvDataDir is the folder the plugin may write to, also its working
	// directory and HOME.
	EnvDataDir = "QUOIN_DATA_DIR"
	// EnvDevelopment is set to 1 for a plugin in development: the plugin may log
	// more for its author.
	EnvDevelopment = "QUOIN_PLUGIN_DEVELOPMENT"
)

// Cookie is how a plugin binary recognises that a host started it. It is a
// courtesy to people who run the binary by hand, not a secret.
const (
	CookieKey   = "QUOIN_PLUGIN"
	CookieValue = "4e9d1f6c-quoin-plugin"
)

// Handshake returns the handshake both sides use. Its version is what a process
// speaks that serves no others.
func Handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{
		ProtocolVersion:  Version,
		MagicCookieKey:   CookieKey,
		MagicCookieValue: CookieValue,
	}
}
