//go:build !linux

package plugins

import (
	"errors"
	"runtime"
)

func checkPrivate(string) error {
	return errors.New("plugins cannot be contained on " + runtime.GOOS + "; run the host on Linux")
}
