//go:build unix

package runstore

import (
	"fmt"
	"os"
	"syscall"
)

// checkPrivate refuses a key that others can read, or that another user put there:
// whoever has the key can forge a guest image.
func checkPrivate(path string, st os.FileInfo) error {
	if perm := st.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("key file %s has mode %04o, expected 0600: run chmod 600 on it", path, perm)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() {
		return fmt.Errorf("key file %s belongs to user %d, expected %d, who runs this: use another directory, or chown the file if it is yours", path, sys.Uid, os.Geteuid())
	}
	return nil
}
