package paths

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// State returns the state directory: that of the flag, else the configured one, else
// quoin's in the user's state home.
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
