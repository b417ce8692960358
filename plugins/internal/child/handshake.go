package child

import (
	"regexp"
	"strings"
)

// handshakeLine finds the line by which a plugin says where it listens. Output
// printed without a line end may stand before it.
var handshakeLine = regexp.MustCompile(`1\|[0-9]+\|(unix|tcp)\|[^|]+\|grpc\|[A-Za-z0-9+/=]*(\|(true|false))?$`)

// findHandshake splits a line of standard output into what was printed before
// the handshake and the handshake, which is "" if the line does not have it.
func findHandshake(line string) (printed, handshake string) {
	at := handshakeLine.FindStringIndex(line)
	if at == nil {
		return line, ""
	}
	return line[:at[0]], line[at[0]:]
}

// Handshake are the fields of the line, as the plugin wrote them.
type Handshake struct {
	Core, Version, Network, Address, Transport, Certificate string
}

// ParseHandshake splits a line. ok is false for one with too few or too many fields.
func ParseHandshake(line string) (h Handshake, ok bool) {
	f := strings.Split(line, "|")
	if len(f) != 6 && len(f) != 7 {
		return Handshake{}, false
	}
	return Handshake{f[0], f[1], f[2], f[3], f[4], f[5]}, true
}
