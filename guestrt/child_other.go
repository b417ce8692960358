//go:build !linux

package guestrt

import (
	"errors"
	"os"
	"runtime"
)

var errSystem = errors.New("guest workers run on Linux only, not on " + runtime.GOOS)

func startChild(*binary, bool) (p *os.Process, conn, log *os.File, err error) {
	return nil, nil, nil, errSystem
}
