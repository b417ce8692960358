//go:build unix

package gateway

import (
	"fmt"
	"io/fs"
)

// checkPrivate refuses a file that others than its owner may use.
func checkPrivate(path string, st fs.FileInfo) error {
	if mode := st.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("token file %s has mode %04o, so that others can use it: run chmod 600 %s", path, mode, path)
	}
	return nil
}
