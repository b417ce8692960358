//go:build quickjs_c && !quickjs_sanitize

package guestserver

import (
	"errors"

	"golang.org/x/sys/unix"
)

// auxBase is the entry of the auxiliary vector that says where the dynamic linker is.
const auxBase = 7

// checkLinkage refuses a worker that runs code of files which its build id does not
// cover: images hold addresses of the C library.
func checkLinkage() error {
	vector, err := unix.Auxv()
	if err != nil {
		return err
	}
	for _, entry := range vector {
		if entry[0] == auxBase && entry[1] != 0 {
			return errors.New("the worker is linked dynamically; build it with: go run github.com/quoinhq/quoin/guestrt/cmd/quoin-native -o FILE")
		}
	}
	return nil
}
