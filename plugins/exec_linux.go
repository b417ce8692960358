package plugins

import (
	"io/fs"
	"syscall"
)

// executable reports whether the file may be run by anyone.
func executable(info fs.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }

// fileNumber tells a file from another of the same size and time.
func fileNumber(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
