//go:build !linux

package guestrt

import (
	"errors"
	"runtime"
)

var errSystem = errors.New("guest workers run on Linux only; " + runtime.GOOS + " has no layer of their sandbox, which is tier D")

func (*process) startChild(*binary, *launchConfig) error { return errSystem }
