package command

import (
	"fmt"
	"io/fs"
	"syscall"
)

// stamp tells a file from what it was before: unlike the time of its contents, the
// time of its inode cannot be set.
func stamp(st fs.FileInfo) string {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(sys.Dev, sys.Ino, sys.Ctim.Sec, sys.Ctim.Nsec)
}
