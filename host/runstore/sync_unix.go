//go:build unix

package runstore

import (
	"errors"
	"os"
)

// syncDir makes a rename in path durable.
func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(fsync(f), f.Close())
}
