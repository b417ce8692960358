package plugins

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/ownership"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// ownedPlugin makes a plugin of this user in a folder with a name that needs quotes.
func ownedPlugin(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plug ins", "own")
	for name, text := range map[string]string{
		manifest.Name:     `{"id": "own", "version": "1", "protocol": 2, "command": "./own", "files": ["templates", "help.txt"]}`,
		"own":             "#!/bin/sh\nexit 1\n",
		"help.txt":        "help",
		"templates/a.txt": "a",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// change does something to one path of a plugin.
type change func(t *testing.T, path string)

func writable(t *testing.T, path string) {
	st, err := os.Stat(path)
	if err == nil {
		err = os.Chmod(path, st.Mode().Perm()|0o002)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func ofAnother(t *testing.T, path string) {
	const another = 1234
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	if err := os.Lchown(path, another, -1); err != nil {
		t.Fatal(err)
	}
}

// TestPluginsOfOthersDoNotStart changes one path after another. The start is
// refused each time, and the test repairs the path with the command that the refusal names,
// if the path is the user's own.
func TestPluginsOfOthersDoNotStart(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"..", ".", manifest.Name, "own", "help.txt", "templates", "templates/a.txt"} {
		for what, do := range map[string]change{"writable": writable, "of another": ofAnother} {
			t.Run(where+" "+what, func(t *testing.T) {
				dir := ownedPlugin(t)
				do(t, filepath.Join(dir, where))
				_, err := Start(context.Background(), Find(dir), Options{DataDir: t.TempDir()})
				var refused *StartError
				var owner *OwnerError
				if !errors.As(err, &refused) || !refused.Refused || !errors.As(err, &owner) {
					t.Fatalf("%v", err)
				}
				for _, part := range []string{owner.Path, "belongs to user ", "has mode 0", owner.Command} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q is not in %q", part, err)
					}
				}
				// To root what is on the way may be the system's.
				if own := what == "writable" && (where != ".." || os.Geteuid() != 0); own != strings.Contains(err.Error(), "run: ") {
					t.Errorf("%v", err)
				}
				if owner.Command == "" {
					return
				}
				if out, err := exec.Command("sh", "-c", owner.Command).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v %s", owner.Command, err, out)
				}
				if err := Find(dir).CheckOwner(); err != nil {
					t.Errorf("repaired: %v", err)
				}
			})
		}
	}
}

// TestGroupsThatMayWrite: a umask of 002 is usual where users have private groups.
func TestGroupsThatMayWrite(t *testing.T) {
	t.Parallel()
	dir := ownedPlugin(t)
	path := filepath.Join(dir, "own")
	if err := os.Chmod(path, 0o775); err != nil {
		t.Fatal(err)
	}
	private := ownership.PrivateGroup(os.Geteuid(), uint32(os.Getegid()))
	if err := Find(dir).CheckOwner(); (err == nil) != private {
		t.Errorf("the group is private: %v; refused: %v", private, err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to other groups")
	}
	const another = 1234
	if err := os.Chown(path, -1, another); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o775); err != nil {
		t.Fatal(err)
	}
	var owner *OwnerError
	if err := Find(dir).CheckOwner(); !errors.As(err, &owner) || owner.Mode != fs.FileMode(0o775) {
		t.Errorf("%v", err)
	}
}

// TestASecretThatOthersCanReadIsRefused, whatever the secret is of: sources in files are for all of them.
func TestASecretThatOthersCanReadIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("hunter2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := FileSecret(file)(); err == nil || !strings.Contains(err.Error(), "0644") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}
