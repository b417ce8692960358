//go:build !linux

package plugins

import "io/fs"

// executable leaves the answer to the start of the process.
func executable(fs.FileInfo) bool { return true }

// fileNumber is the same for all files: not every system numbers them.
func fileNumber(fs.FileInfo) uint64 { return 0 }
