//go:build unix

package gateway

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwn refuses what somebody else than the server's user may have written: any
// user of the machine reaches a loopback address.
func checkOwn(path string, st fs.FileInfo) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int64(sys.Uid) != int64(os.Geteuid()):
		return fmt.Errorf("%s does not belong to the user that the server runs as", path)
	case st.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s has mode %04o, so that others can write to it: run chmod go-w %s", path, st.Mode().Perm(), path)
	}
	return nil
}
