//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwn refuses a configuration file that another user could have written.
func checkOwn(path string, st fs.FileInfo) error {
	if mode := st.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("configuration file %s has mode %04o, so that others can write it: run chmod go-w %s", path, mode, path)
	}
	owner, ok := st.Sys().(*syscall.Stat_t)
	if ok && int(owner.Uid) != os.Geteuid() && owner.Uid != 0 {
		return fmt.Errorf("configuration file %s belongs to another user (uid %d): run chown %d %s as root, or name it with --config", path, owner.Uid, os.Geteuid(), path)
	}
	return nil
}
