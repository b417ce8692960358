//go:build unix

package durable

import (
	"errors"
	"os"
)

// SyncDir makes the creations, renames and removals in a directory durable.
func SyncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(Sync(f), f.Close())
}
