//go:build unix

package runstore

import (
	"fmt"
	"os"
)

// checkPrivate refuses a key that others can read: whoever has the key can
// forge a guest image.
func checkPrivate(path string, st os.FileInfo) error {
	if perm := st.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("key file %s has mode %04o, expected 0600: run chmod 600 on it", path, perm)
	}
	return nil
}
