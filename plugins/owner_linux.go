package plugins

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/quoinhq/quoin/plugins/manifest"
)

// maxSteps bounds the names on the way to a file, those in links included.
const maxSteps = 512

// CheckOwner refuses a plugin that others than this process's user or root may
// have put there, or may change: its folder, its manifest, its binary, its files,
// and every folder and link on the way to them. The error is an [*OwnerError]
// where it is about owner or mode. On systems other than Linux nothing is checked,
// and no plugin starts.
func (f Candidate) CheckOwner() error {
	for _, path := range []string{f.Dir, filepath.Join(f.Dir, manifest.Name), f.Executable()} {
		if err := checkOwner(path); err != nil {
			return err
		}
	}
	for _, name := range f.Manifest.Files {
		if err := checkOwnerBelow(filepath.Join(f.Dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

// OwnerError is about something that another user owns or may write to.
type OwnerError struct {
	Path  string      // absolute
	Owner uint32      // the user id of its owner
	Mode  fs.FileMode // its permission bits
	// Command repairs it, if the user agrees that what is there may run.
	Command string
}

// Error names the path, its owner and mode, and the command.
func (e *OwnerError) Error() string {
	problem := "so that others can write to it"
	if strings.Contains(e.Command, "chown") {
		problem = fmt.Sprintf("and programs of other users are not run; this is user %d", os.Geteuid())
	}
	return fmt.Sprintf("%s belongs to user %d and has mode %04o, %s; if you trust what is there, run: %s",
		e.Path, e.Owner, e.Mode, problem, e.Command)
}

// checkOwnerBelow checks a file, or a folder with all that is in it.
func checkOwnerBelow(path string) error {
	if err := checkOwner(path); err != nil {
		return err
	}
	return filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Type() == fs.ModeSymlink {
			return checkOwner(path)
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		return checkStep(path, st, true)
	})
}

// checkOwner checks an absolute path: every folder and link on the way belongs to
// this process's user or to root, and no other user can write to any of them. Of
// a folder with the sticky bit others cannot take away what is not theirs.
func checkOwner(path string) error {
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
			if err := checkStep(next, st, strings.Trim(rest, "/.") == ""); err != nil {
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
	if !ok {
		return fmt.Errorf("the owner of %s cannot be told", path)
	}
	mode, user := st.Mode().Perm(), os.Geteuid()
	link := st.Mode().Type() == fs.ModeSymlink
	switch {
	case sys.Uid != 0 && int64(sys.Uid) != int64(user):
		return &OwnerError{path, sys.Uid, mode, chown(user, path)}
	case link, mode&0o022 == 0, !end && st.Mode()&fs.ModeSticky != 0:
		return nil
	case mode&0o002 == 0 && privateGroup(user, sys.Gid):
		return nil
	}
	return &OwnerError{path, sys.Uid, mode, "chmod go-w " + shellWord(path)}
}

// chown is the command that gives a path to the user. Only root may run it.
func chown(user int, path string) string {
	command := fmt.Sprintf("chown -h %d %s", user, shellWord(path))
	if user != 0 {
		return "sudo " + command
	}
	return command
}

// shellWord quotes a path for a shell where it has to be.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=", r)
	}
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// privateGroup reports whether a group has no other member than the user: many
// systems give every user such a group, and a umask that lets it write.
func privateGroup(user int, group uint32) bool {
	users, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return false
	}
	groups, err := os.ReadFile("/etc/group")
	if err != nil {
		return false
	}
	return privateGroupIn(string(users), string(groups), strconv.Itoa(user), strconv.FormatUint(uint64(group), 10))
}

// privateGroupIn is privateGroup with the texts of the system's files.
func privateGroupIn(users, groups, user, group string) bool {
	const nameField, idField, groupField = 0, 2, 3
	var name string
	for line := range strings.Lines(users) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) <= groupField || fields[groupField] != group {
			continue
		}
		if fields[idField] != user {
			return false // the group of another user
		}
		name = fields[nameField]
	}
	if name == "" {
		return false
	}
	for line := range strings.Lines(groups) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		const membersField = 3
		if len(fields) > membersField && fields[idField] == group {
			return fields[membersField] == "" || fields[membersField] == name
		}
	}
	return false
}
