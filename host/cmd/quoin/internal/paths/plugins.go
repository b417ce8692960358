package paths

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Plugins returns the plugin directory: the flag's, else the configured one, else the first
// default that exists, or "". The working directory is no default: a program in it must not
// run unasked.
func Plugins(flag, configured string) (string, error) {
	for _, given := range []struct{ by, dir string }{{"--plugins", flag}, {"plugins.dir", configured}} {
		switch {
		case given.dir == "":
			continue
		case given.dir == None:
			return "", nil
		case !IsDir(given.dir):
			return "", fmt.Errorf("%s %s is not a directory", given.by, given.dir)
		}
		return given.dir, nil
	}
	var candidates []string
	if dir, err := UserPlugins(); err == nil {
		candidates = append(candidates, dir)
	}
	candidates = append(candidates, NextToExecutable())
	for _, dir := range candidates {
		if dir != "" && IsDir(dir) {
			return dir, nil
		}
	}
	return "", nil
}

// NextToExecutable returns the plugin directory that came with the executable, whether it
// exists or not, or "". Where it was built from a checkout, that is the one of the examples.
func NextToExecutable() string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(exe), "plugins")
}

// IsDir reports whether the path is a directory.
func IsDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// UserPlugins returns the plugin directory of the user, whether it exists or not.
func UserPlugins() (string, error) {
	data, err := userData()
	if err != nil {
		return "", err
	}
	return filepath.Join(data, "quoin", "plugins"), nil
}

// userData returns the directory where programs keep what the user has installed.
func userData() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return os.UserConfigDir()
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(home) {
		return "", errors.New("$HOME is no absolute path")
	}
	return filepath.Join(home, ".local", "share"), nil
}
