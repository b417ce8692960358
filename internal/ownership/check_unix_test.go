//go:build unix

package ownership

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheWayCounts: a directory on the way that others can write to is as good as the
// file itself.
func TestTheWayCounts(t *testing.T) {
	top := t.TempDir()
	way := filepath.Join(top, "way")
	path := filepath.Join(way, "deep", "file")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(top, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for mode, refused := range map[os.FileMode]bool{0o700: false, 0o755: false, 0o777: true, 0o777 | os.ModeSticky: false} {
		if err := os.Chmod(way, mode); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{path, link} {
			var e *Error
			if err := Check(name); (err != nil) != refused || refused && (!errors.As(err, &e) || e.Path != way) {
				t.Errorf("%s with a directory of mode %v: %v", name, mode, err)
			}
		}
	}
}

// TestAdviceIsAboutOnesOwn makes one path after another that is refused, and runs what the
// refusal proposes. Nothing is proposed for a path of another user or of the system.
func TestAdviceIsAboutOnesOwn(t *testing.T) {
	root := os.Geteuid() == 0
	const another, system = 1234, 4 // a user, and a group that every system knows
	for _, c := range []struct {
		name     string
		mode     fs.FileMode
		owner    int // -1 leaves it
		group    int
		onTheWay bool
		advised  bool
		says     string
	}{
		{"open", 0o777, -1, -1, false, true, "mode 0777"},
		{"open on the way", 0o777, -1, -1, true, !root, "mode 0777"}, // to root it may be the system's
		{"sticky", 0o777 | fs.ModeSticky, -1, -1, false, false, "mode 1777"},
		{"setgid", 0o777 | fs.ModeSetgid, -1, -1, false, false, "mode 2777"},
		{"setgid on the way", 0o777 | fs.ModeSetgid, -1, -1, true, false, "mode 2777"},
		{"of another", 0o700, another, -1, false, false, "belongs to user 1234 and has mode 0700, and this is user 0"},
		{"of another on the way", 0o755, another, -1, true, false, "belongs to user 1234"},
		{"of a group of the system", 0o775, -1, system, false, false, "mode 0775"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !root && (c.owner >= 0 || c.group >= 0) {
				// The tests of root have it.
				t.Skip("only root can give directories away")
			}
			dir := filepath.Join(t.TempDir(), "th is")
			path := dir
			if c.onTheWay {
				path = filepath.Join(dir, "below")
			}
			if err := errors.Join(os.MkdirAll(path, 0o700), os.Chown(dir, c.owner, c.group), os.Chmod(dir, c.mode)); err != nil {
				t.Fatal(err)
			}
			err := Check(path)
			var e *Error
			if !errors.As(err, &e) || e.Path != dir || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v", err)
			}
			if got := e.Command != ""; got != c.advised || got != strings.HasSuffix(err.Error(), "run: "+e.Command) || strings.Contains(err.Error(), "ch") != got {
				t.Fatalf("the advice is %q: %v", e.Command, err)
			}
			if !c.advised {
				return
			}
			if out, err := exec.Command("sh", "-c", e.Command).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v %s", e.Command, err, out)
			}
			if err := Check(path); err != nil {
				t.Errorf("repaired: %v", err)
			}
		})
	}
}

func TestPrivateGroups(t *testing.T) {
	const users = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:1001::/:/bin/sh\ncy:x:1002:1001::/:/bin/sh\ndee:x:1003:1003::/:/bin/sh\n"
	const groups = "root:x:0:\nann:x:1000:\nbob:x:1001:\nstaff:x:50:\ndee:x:1003:ann\n"
	for _, c := range []struct {
		user, group string
		want        bool
	}{
		{"1000", "1000", true},
		{"0", "0", true},
		{"1001", "1001", false}, // the group of another, too
		{"1000", "50", false},   // no user's own
		{"1003", "1003", false}, // with another member
		{"1000", "1001", false},
		{"1000", "9999", false},
	} {
		if got := privateGroupIn(users, groups, c.user, c.group); got != c.want {
			t.Errorf("user %s, group %s: %v", c.user, c.group, got)
		}
	}
	if privateGroupIn("", "", "1000", "1000") {
		t.Error("a group that is in no file is private")
	}
}

// TestGroupsOfADirectoryAreKnown: a group that the files lack may be one of LDAP. Where that cannot be told it counts as known.
func TestGroupsOfADirectoryAreKnown(t *testing.T) {
	const group = 2_000_054_321 // in no file
	for name, c := range map[string]struct {
		getent, nsswitch string
		want             bool
	}{
		"LDAP has it":        {"[ $1 = group ] && echo devs:*:$2:ann", "", true},
		"no source has it":   {"exit 2", "", false},
		"getent fails":       {"exit 1", "", true},
		"files alone":        {"", "passwd: sss\ngroup:  files systemd # local\n", false},
		"no getent, LDAP":    {"", "group: files [SUCCESS=merge] sss\n", true},
		"no getent, no file": {"", "-", false},
	} {
		dir := t.TempDir()
		t.Setenv("PATH", dir)
		file := filepath.Join(dir, "nsswitch.conf")
		if c.getent != "" {
			if err := os.WriteFile(filepath.Join(dir, "getent"), []byte("#!/bin/sh\n"+c.getent+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if c.nsswitch != "-" {
			if err := os.WriteFile(file, []byte(c.nsswitch), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := knownGroup(group, file); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
