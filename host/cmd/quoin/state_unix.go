//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// checkState refuses a state directory that another user owns or may write to: that
// user could put other runs and approvals in the place of ours.
func checkState(dir string) error {
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
