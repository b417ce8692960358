//go:build unix

package ownership

import (
	"errors"
	"os"
	"path/filepath"
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
	if err := os.Chmod(way, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := CheckExcept(path, func(e *Error) bool { return e.Path == way }); err != nil {
		t.Errorf("what is accepted is refused: %v", err)
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
