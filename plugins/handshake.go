package plugins

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// handshakeLine finds the line by which a plugin says where it listens. Output
// printed without a line end may stand before it.
var handshakeLine = regexp.MustCompile(`1\|([0-9]+)\|(unix|tcp)\|[^|]+\|grpc\|[A-Za-z0-9+/=]*(\|(true|false))?$`)

// findHandshake splits a line of standard output into what was printed before
// the handshake and the handshake, which is "" if the line has none.
func findHandshake(line string) (printed, handshake string) {
	at := handshakeLine.FindStringIndex(line)
	if at == nil {
		return line, ""
	}
	return line[:at[0]], line[at[0]:]
}

// checkHandshakeVersion explains a protocol version this host does not speak.
func checkHandshakeVersion(handshake string) error {
	version, err := strconv.Atoi(handshakeLine.FindStringSubmatch(handshake)[1])
	if err != nil {
		return fmt.Errorf("the protocol version in %q is not a number", handshake)
	}
	if version != protocol.Version {
		return fmt.Errorf("the binary speaks protocol version %d, this host version %d; rebuild the plugin with this host's sdk", version, protocol.Version)
	}
	return nil
}
