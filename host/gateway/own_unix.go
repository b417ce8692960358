//go:build unix

package gateway

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxSteps bounds the names on the way to a file, those in links included.
const maxSteps = 512

// checkOwn refuses an absolute path at which somebody else than the server's user
// may have put something, or may later: any user of the machine reaches a loopback
// address. The end belongs to that user, every folder and link on the way to them
// or to root, and nobody else can write to any of them; of a folder with the sticky
// bit others cannot take away what is not theirs.
func checkOwn(path string) error {
	done, left := string(filepath.Separator), path
	for range maxSteps {
		name, rest, _ := strings.Cut(left, "/")
		switch name {
		case "", ".":
		case "..":
			done = filepath.Dir(done)
		default:
			next := filepath.Join(done, name)
			st, err := os.Lstat(next)
			if err != nil {
				return err
			}
			end := strings.Trim(rest, "/.") == ""
			if err := checkStep(next, st, end); err != nil {
				return err
			}
			if st.Mode().Type() != fs.ModeSymlink {
				done = next
				break
			}
			target, err := os.Readlink(next)
			if err != nil {
				return err
			}
			if filepath.IsAbs(target) {
				done = string(filepath.Separator)
			}
			rest = target + "/" + rest
		}
		if left = rest; left == "" {
			return nil
		}
	}
	return fmt.Errorf("the way to %s has more than %d steps", path, maxSteps)
}

// checkStep checks one name on the way, or at its end.
func checkStep(path string, st fs.FileInfo, end bool) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	own := ok && int64(sys.Uid) == int64(os.Geteuid())
	link := st.Mode().Type() == fs.ModeSymlink
	switch {
	case !own && (!ok || sys.Uid != 0 || end && !link):
		return fmt.Errorf("%s does not belong to the user that the server runs as", path)
	case link || st.Mode().Perm()&0o022 == 0 || !end && st.Mode()&fs.ModeSticky != 0:
		return nil
	}
	return fmt.Errorf("%s has mode %04o, so that others can write to it: run chmod go-w %s", path, st.Mode().Perm(), path)
}
