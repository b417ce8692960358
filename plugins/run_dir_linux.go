package plugins

import (
	"fmt"
	"os"
	"syscall"
)

// checkPrivate refuses a folder that others could put sockets into.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s must be a folder of user %d with mode 0700, and is %s of user %d", dir, os.Getuid(), info.Mode(), st.Uid)
	}
	return nil
}
