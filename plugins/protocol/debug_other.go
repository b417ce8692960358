//go:build !unix

package protocol

import (
	"errors"
	"io/fs"
)

// checkPrivate refuses everything where it cannot be told who may use a folder.
func checkPrivate(string, fs.FileInfo) error {
	return errors.New("plugins cannot be debugged on this system: who may use a socket cannot be told")
}
