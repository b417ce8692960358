package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/quoinhq/quoin/host"
)

// noPlugins in place of a plugin directory means that there are no plugins. A
// directory of that name is ./none.
const noPlugins = "none"

// pluginDir is the directory given, or the first default that exists, or "". The
// working directory is no default: a program that lies in it is not run unasked.
func (o *options) pluginDir(f *host.File) (string, error) {
	for _, given := range []struct{ by, dir string }{{"--plugins", o.plugins}, {"plugins.dir", f.PluginDir}} {
		switch {
		case given.dir == "":
			continue
		case given.dir == noPlugins:
			return "", nil
		case !isDir(given.dir):
			return "", inputError{fmt.Errorf("%s %s is not a directory", given.by, given.dir), host.ReasonInvalidConfig}
		}
		return given.dir, nil
	}
	var candidates []string
	if dir, err := userPlugins(); err == nil {
		candidates = append(candidates, dir)
	}
	if exe, err := os.Executable(); err == nil {
		candidates = append(candidates, filepath.Join(filepath.Dir(exe), "plugins"))
	}
	for _, dir := range candidates {
		if isDir(dir) {
			return dir, nil
		}
	}
	return "", nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// userPlugins is the plugin directory of the user, whether it is there or not.
func userPlugins() (string, error) {
	data, err := userData()
	if err != nil {
		return "", err
	}
	return filepath.Join(data, "quoin", "plugins"), nil
}

// userData is where programs keep what the user has installed.
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
