package plugins

import (
	"fmt"
	"strconv"

	"github.com/quoinhq/quoin/plugins/internal/child"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

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
func checkHandshakeVersion(h child.Handshake, declared int) error {
	version, err := strconv.Atoi(h.Version)
	if err != nil {
		return fmt.Errorf("the protocol version in the handshake is %q, which is too large a number", h.Version)
	}
	if version != declared {
		return &VersionError{Manifest: declared, Binary: version}
	}
	return nil
}

// childOutput is the log of a process, and holds its handshake to the manifest.
type childOutput struct {
	*pluginLog
	version int
}

func (o *childOutput) Handshake(h child.Handshake) error { return checkHandshakeVersion(h, o.version) }
