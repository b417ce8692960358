package plugins

import (
	"encoding/binary"
	"io/fs"
	"syscall"
)

// executable reports whether the file may be run by anyone.
func executable(info fs.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }

// fileIdentity is what tells a file from another of the same size and time: it
// changes with whatever is done to the file but reading.
func fileIdentity(info fs.FileInfo) []byte {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	b := binary.BigEndian.AppendUint64(nil, st.Ino)
	b = binary.BigEndian.AppendUint64(b, uint64(st.Ctim.Sec))
	return binary.BigEndian.AppendUint64(b, uint64(st.Ctim.Nsec))
}
