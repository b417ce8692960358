//go:build unix

package node

import "github.com/quoinhq/quoin/internal/ownership"

// checkOwner returns an error if another user could change what a directory holds. A
// directory of root with a group that the system does not know is accepted: managers of
// containers give volumes to such a group.
func checkOwner(dir string) error {
	return ownership.CheckExcept(dir, func(e *ownership.Error) bool {
		return e.Owner == 0 && e.Mode&0o002 == 0 && !ownership.KnownGroup(e.Group)
	})
}
