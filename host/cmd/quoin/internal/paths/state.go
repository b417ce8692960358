package paths

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/quoinhq/quoin/internal/ownership"
)

// State returns the state directory: the flag's, else the configured one, else quoin's in the
// user's state home.
func State(flag, configured string) (string, error) {
	if given := cmp.Or(flag, configured); given != "" {
		return given, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "quoin"), nil
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return "", fmt.Errorf("no state directory: %w; give one with --state", err)
		}
		return filepath.Join(dir, "quoin"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no state directory: %w; give one with --state", err)
	}
	return filepath.Join(home, ".local", "state", "quoin"), nil
}

// CheckState returns an error if another user could put other runs and approvals in the
// place of this user's: if one owns the state directory or a directory on the way to it,
// or may write there. A directory that is not there is made, once the way to it is checked,
// so that in a directory of all users no other user makes it first.
func CheckState(dir string) error {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = ownership.CheckState(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			err = ownership.CheckState(dir)
		}
	}
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	return nil
}
