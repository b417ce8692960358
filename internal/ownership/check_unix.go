//go:build unix

package ownership

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxSteps bounds the names on the way to a file, those in links included.
const maxSteps = 512

// CheckTree checks an absolute path as [Check] does, and everything below it.
func CheckTree(path string) error {
	if err := Check(path); err != nil {
		return err
	}
	return filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Type() == fs.ModeSymlink {
			return Check(path)
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		return checkStep(path, st, true)
	})
}

// Check returns an *[Error] if another user could change what an absolute path leads to:
// every directory and link on the way must belong to the user of this process or to
// root, and no other user may have write permission. In a directory with the sticky bit
// other users cannot replace what is not theirs.
func Check(path string) error { return checkExcept(path, func(*Error) bool { return false }) }

// CheckState is [Check] for what a host keeps. It accepts a directory of root with a group
// that the system does not know: managers of containers give volumes to such a group.
func CheckState(path string) error {
	return checkExcept(path, func(e *Error) bool { return e.Owner == 0 && e.Mode&0o002 == 0 && !KnownGroup(e.Group) })
}

// checkExcept is [Check] without the errors that accept returns true for.
func checkExcept(path string, accept func(*Error) bool) error {
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
			err = checkStep(next, st, strings.Trim(rest, "/.") == "")
			if e, ok := err.(*Error); err != nil && !(ok && accept(e)) {
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
	e := &Error{path, sys.Uid, sys.Gid, st.Mode() &^ fs.ModeType, ""}
	switch {
	case sys.Uid != 0 && int64(sys.Uid) != int64(user):
		return e
	case link, mode&0o022 == 0, !end && st.Mode()&fs.ModeSticky != 0:
		return nil
	case mode&0o002 == 0 && PrivateGroup(user, sys.Gid):
		return nil
	case user == 0 && (!end || mode&0o002 == 0):
		return e // of the system's: root's own is what was named, and no group got it on purpose
	}
	e.Command = Repair("go-w", path, st)
	return e
}

// Repair returns the command that changes the mode of a path. It returns "" where the path
// is not the user's own: another user owns it, or its sticky or setgid bit says that users share it.
func Repair(change, path string, st fs.FileInfo) string {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || int64(sys.Uid) != int64(os.Geteuid()) || st.Mode()&(fs.ModeSticky|fs.ModeSetgid) != 0 {
		return ""
	}
	return "chmod " + change + " " + shellWord(path)
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

// PrivateGroup reports whether a group has no other member than the user. Many systems
// give every user such a group, and a umask that lets it write.
func PrivateGroup(user int, group uint32) bool {
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

// lookupTimeout bounds the question to a directory service, which may be down.
const lookupTimeout = 5 * time.Second

// KnownGroup reports whether the system has a group, or whether that cannot be told. The
// manager of a container may give its volumes to a group that the system does not have.
func KnownGroup(group uint32) bool { return knownGroup(group, "/etc/nsswitch.conf") }

// knownGroup is KnownGroup with the file that says where groups are looked up.
func knownGroup(group uint32, nsswitch string) bool {
	id := strconv.FormatUint(uint64(group), 10)
	for file, field := range map[string]int{"/etc/passwd": 3, "/etc/group": 2} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Split(strings.TrimSpace(line), ":"); len(fields) > field && fields[field] == id {
				return true
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	err := exec.CommandContext(ctx, "getent", "group", id).Run()
	if errors.Is(err, exec.ErrNotFound) {
		return otherGroups(nsswitch)
	}
	const notFound = 2
	var exit *exec.ExitError
	return !errors.As(err, &exit) || exit.ExitCode() != notFound
}

// otherGroups reports whether groups are looked up elsewhere than in the files, or that cannot
// be told.
func otherGroups(nsswitch string) bool {
	text, err := os.ReadFile(nsswitch)
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		sources, ok := strings.CutPrefix(strings.TrimSpace(line), "group:")
		if ok && strings.Trim(strings.NewReplacer("files", "", "systemd", "").Replace(sources), " \t") != "" {
			return true
		}
	}
	return err != nil && !errors.Is(err, fs.ErrNotExist)
}
