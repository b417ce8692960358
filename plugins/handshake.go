package plugins

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// handshakeLine finds the line by which a plugin says where it listens. Output
// printed without a line end may stand before it.
var handshakeLine = regexp.MustCompile(`1\|([0-9]+)\|(unix|tcp)\|[^|]+\|grpc\|[A-Za-z0-9+/=]*(\|(true|false))?$`)

// findHandshake splits a line of standard output into what was printed before
// the handshake and the handshake, which is "" if the line does not have it.
func findHandshake(line string) (printed, handshake string) {
	at := handshakeLine.FindStringIndex(line)
	if at == nil {
		return line, ""
	}
	return line[:at[0]], line[at[0]:]
}

// VersionError: a binary answers in another protocol version than its manifest
// names.
type VersionError struct {
	Manifest, Binary int
}

// Error names both versions and the way out.
func (e *VersionError) Error() string {
	if err := protocol.CheckVersion(e.Binary); err != nil {
		return fmt.Sprintf("the manifest says protocol version %d, but %v", e.Manifest, err)
	}
	return fmt.Sprintf("the binary speaks protocol version %d, but its manifest says %d; write \"protocol\": %d into %s, or rebuild the plugin",
		e.Binary, e.Manifest, e.Binary, manifest.Name)
}

// checkHandshakeVersion holds a handshake to the manifest.
func checkHandshakeVersion(handshake string, declared int) error {
	version, err := strconv.Atoi(handshakeLine.FindStringSubmatch(handshake)[1])
	if err != nil {
		return fmt.Errorf("the protocol version in %q is not a number", handshake)
	}
	if version != declared {
		return &VersionError{Manifest: declared, Binary: version}
	}
	return nil
}
