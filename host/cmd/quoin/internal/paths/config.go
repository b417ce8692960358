// Package paths finds the files and directories that the quoin command uses: the
// configuration file, the state directory and the plugin directory. It also checks that
// no other user can have written what the command trusts. It reads the environment
// and looks at the file system, and changes neither.
package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// ConfigEnv names the configuration file in place of --config.
const ConfigEnv = "QUOIN_CONFIG"

// ConfigUsage describes the flag --config.
const ConfigUsage = "JSON5 configuration file, or none (default: " + ConfigEnv + ", else the user's own; see quoin config path)"

// None, in place of a configuration file or a plugin directory, stands for no such
// file or directory. A directory of that name is ./none.
const None = "none"

// Config returns the configuration file in force, or "": the given one, else the file of
// QUOIN_CONFIG, else the user's own if it exists.
func Config(given string) (string, error) {
	if given == "" {
		given = os.Getenv(ConfigEnv)
	}
	switch given {
	case None:
		return "", nil
	case "":
	default:
		return given, nil
	}
	path := UserConfig()
	if path == "" {
		return "", nil
	}
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("configuration: %w", err)
	}
	// This file decides which programs start, though no flag names it.
	return path, checkOwn(path, st)
}

// UserConfig returns the path of the user's own configuration file, whether it exists
// or not, or "" if the environment names no home.
func UserConfig() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		var err error
		if runtime.GOOS == "windows" {
			dir, err = os.UserConfigDir()
		} else if dir, err = os.UserHomeDir(); err == nil {
			dir = filepath.Join(dir, ".config")
		}
		if err != nil {
			return ""
		}
	}
	return filepath.Join(dir, "quoin", "quoin.json5")
}
