package selfexec

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/wire"
)

// The descriptors of a worker's connection.
const (
	fromHost = 3
	toHost   = 4
)

// Connection is a worker's end of the connection to its host. It blocks a thread while it
// reads. Where a host of an earlier version has given it a socket, both descriptors are
// that socket, so that the seal of a worker is the same.
func Connection() (wire.Pipes, error) {
	if OnSocket() {
		fd, err := unix.FcntlInt(fromHost, unix.F_DUPFD, toHost)
		if err == nil && fd != toHost {
			err = fmt.Errorf("descriptor %d is taken", toHost)
		}
		if err != nil {
			return wire.Pipes{}, fmt.Errorf("connection to the host: %w", err)
		}
	}
	return wire.Pipes{From: os.NewFile(fromHost, "host"), To: os.NewFile(toHost, "host")}, nil
}
