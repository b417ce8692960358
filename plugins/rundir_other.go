//go:build !linux

package plugins

import (
	"errors"
	"os"
	"runtime"
)

func checkPrivate(string) error {
	return errors.New("plugins cannot be contained on " + runtime.GOOS + "; run the host on Linux")
}

func lockFile(string, bool) (*os.File, error) {
	return nil, errors.New("file locks are not available on " + runtime.GOOS)
}
