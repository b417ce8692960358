//go:build unix

package protocol

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkPrivate refuses a folder that others than this user can use.
func checkPrivate(dir string, st fs.FileInfo) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || !st.IsDir() || int64(sys.Uid) != int64(os.Getuid()) || st.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s must be a folder of this user that is closed to others (mode 0700): set TMPDIR to another place", dir)
	}
	return nil
}
