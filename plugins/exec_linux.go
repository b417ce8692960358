package plugins

import "io/fs"

// executable reports whether the file may be run by anyone.
func executable(info fs.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }
