//go:build unix

package paths

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestStateDirectoriesOfOthers are refused, with the command that repairs them.
func TestStateDirectoriesOfOthers(t *testing.T) {
	const another = 1234
	for name, change := range map[string]func(dir string) error{
		"open":       func(dir string) error { return os.Chmod(dir, 0o777) },
		"of another": func(dir string) error { return os.Chown(dir, another, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "of another" && os.Geteuid() != 0 {
				t.Skip("only root can give directories away")
			}
			dir := t.TempDir() + "/st ate"
			if err := CheckState(dir); err != nil {
				t.Fatalf("it is not there yet: %v", err)
			}
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := CheckState(dir); err != nil {
				t.Fatal(err)
			}
			if err := change(dir); err != nil {
				t.Fatal(err)
			}
			err := CheckState(dir)
			if err == nil {
				t.Fatal("it is taken")
			}
			_, command, _ := strings.Cut(err.Error(), "run: ")
			if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v %s", command, err, out)
			}
			if err := CheckState(dir); err != nil {
				t.Errorf("repaired: %v", err)
			}
		})
	}
}
