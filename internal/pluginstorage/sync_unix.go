//go:build unix

package storage

import (
	"errors"
	"os"
)

// syncDir makes a rename in path durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
