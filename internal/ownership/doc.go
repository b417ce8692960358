// Package ownership checks that no other user of the machine can change what a path leads
// to. Programs, configuration and state of the user of this process are checked with it
// before they are used.
//
// A check looks at every directory and link on the way to a file, because the owner of any
// of them can put another file in its place. Its errors are an *[Error], which names the
// command that repairs the path where that is the user's own: no advice changes a path of
// another user or of the system. Where modes and owners do not say who may write, as on
// Windows, every path is accepted.
package ownership

import (
	"fmt"
	"io/fs"
	"os"
)

// Error is about a file or directory that another user owns or may write to.
type Error struct {
	Path  string      // absolute
	Owner uint32      // the id of the user who owns it
	Group uint32      // the id of its group
	Mode  fs.FileMode // its permission bits, with sticky, setgid and setuid
	// Command repairs it, if the user trusts what is there. It is empty where the path is
	// not the user's own.
	Command string
}

// Error names the path, its owner and mode, and what there is to do.
func (e *Error) Error() string {
	problem := "so that others can write to it"
	if user := os.Geteuid(); e.Owner != 0 && int64(e.Owner) != int64(user) {
		problem = fmt.Sprintf("and this is user %d", user)
	}
	remedy := "use another place, one of your own that no one else can write to"
	if e.Command != "" {
		remedy = "if you trust what is there, run: " + e.Command
	}
	return fmt.Sprintf("%s belongs to user %d and has mode %s, %s; %s", e.Path, e.Owner, Octal(e.Mode), problem, remedy)
}

// Octal writes permission bits as chmod takes them, with sticky, setgid and setuid.
func Octal(mode fs.FileMode) string {
	bits := mode.Perm()
	for bit, value := range map[fs.FileMode]fs.FileMode{fs.ModeSticky: 0o1000, fs.ModeSetgid: 0o2000, fs.ModeSetuid: 0o4000} {
		if mode&bit != 0 {
			bits |= value
		}
	}
	return fmt.Sprintf("%04o", uint32(bits))
}
