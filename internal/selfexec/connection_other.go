//go:build !linux

package selfexec

import (
	"errors"

	"github.com/quoinhq/quoin/internal/wire"
)

// Connection fails: guest workers run on Linux only.
func Connection() (wire.Pipes, error) {
	return wire.Pipes{}, errors.New("guest workers run on Linux only")
}
