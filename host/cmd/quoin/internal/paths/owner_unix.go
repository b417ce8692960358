//go:build unix

package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// CheckState refuses a state directory that another user owns or may write to: that
// user could put other runs and approvals in the place of this user's.
func CheckState(dir string) error {
	st, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case ok && int64(sys.Uid) != int64(os.Geteuid()) && sys.Uid != 0:
		return fmt.Errorf("the state directory %q belongs to user %d, this is user %d; if you trust what is there, run: chown -R %d %q", dir, sys.Uid, os.Geteuid(), os.Geteuid(), dir)
	case st.Mode().Perm()&0o002 != 0 && st.Mode()&os.ModeSticky == 0:
		return fmt.Errorf("the state directory %q has mode %04o, so that others can write to it; if you trust what is there, run: chmod o-w %q", dir, st.Mode().Perm(), dir)
	}
	return nil
}

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
