// Package ownership checks that no other user of the machine can change what a path leads
// to. Programs, configuration and state of the user of this process are checked with it
// before they are used.
//
// A check looks at every directory and link on the way to a file, because the owner of any
// of them can put another file in its place. Its errors are an *[Error], which names the
// command that repairs the path. Where modes and owners do not say who may write, as on
// Windows, every path is accepted.
package ownership

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Error is about a file or directory that another user owns or may write to.
type Error struct {
	Path  string      // absolute
	Owner uint32      // the id of the user who owns it
	Group uint32      // the id of its group
	Mode  fs.FileMode // its permission bits
	// Command repairs it, if the user trusts what is there.
	Command string
}

// Error names the path, its owner and mode, and the command.
func (e *Error) Error() string {
	problem := "so that others can write to it"
	if strings.Contains(e.Command, "chown") {
		problem = fmt.Sprintf("and this is user %d", os.Geteuid())
	}
	return fmt.Sprintf("%s belongs to user %d and has mode %04o, %s; if you trust what is there, run: %s",
		e.Path, e.Owner, e.Mode, problem, e.Command)
}
