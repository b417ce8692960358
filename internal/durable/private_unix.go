//go:build unix

package durable

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/quoinhq/quoin/internal/ownership"
)

// nonblock lets the open of a pipe return at once.
const nonblock = syscall.O_NONBLOCK

func checkPrivate(path string, info fs.FileInfo) error {
	perm := info.Mode().Perm()
	if perm&0o077 != 0 {
		return &NotPrivateError{Path: path, Mode: perm, Owner: -1, Command: ownership.Repair("600", path, info)}
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return &NotPrivateError{Path: path, Mode: perm, Owner: int(st.Uid)}
	}
	return nil
}
