package sqlite

import (
	"sync/atomic"
)

// health is how the writes of a process fare.
type health struct {
	failing atomic.Bool  // the newest one failed as the disk does
	asked   atomic.Int64 // when it was last tried whether that is over
}

// observe notes how a transaction has ended.
func (h *health) observe(err error) {
	h.failing.Store(isCode(err, codeFull) || isCode(err, codeReadOnly) || isCode(err, codeIO) || isCode(err, codeCantOpen))
}
