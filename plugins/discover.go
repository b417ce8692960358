package plugins

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Found is a folder that claims to be a plugin.
type Found struct {
	// Dir is the folder's absolute path.
	Dir string
	// Manifest is valid if Err is nil.
	Manifest Manifest
	// Pin is what the files must be when the plugin starts; nil if only the
	// manifest's own checksums count. A [Gate] sets it.
	Pin *Pin
	// Err says why the folder cannot be loaded.
	Err error
}

// ID is the plugin's id: the name of its folder, which a valid manifest
// repeats.
func (f Found) ID() string { return filepath.Base(f.Dir) }

// Executable is the absolute path of the plugin's binary.
func (f Found) Executable() string {
	return filepath.Join(f.Dir, filepath.FromSlash(f.Manifest.Command))
}

// Discover looks at the folders in dir, in order of name. Folders without a
// plugin.json and those whose name starts with a dot are passed over; one that
// cannot be loaded is returned with its Err set and does not hide the others.
// The error is about dir itself.
func Discover(dir string) ([]Found, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		return nil, fmt.Errorf("plugin directory: %w", err)
	}
	var found []Found
	for _, e := range entries {
		sub := filepath.Join(abs, e.Name())
		if strings.HasPrefix(e.Name(), ".") || !isPluginDir(sub) {
			continue
		}
		found = append(found, Find(sub))
	}
	return found, nil
}

func isPluginDir(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ManifestName))
	return err == nil
}

// Find looks at one plugin's folder.
func Find(dir string) Found {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Found{Dir: dir, Err: err}
	}
	f := Found{Dir: abs}
	if f.Manifest, f.Err = ReadManifest(abs); f.Err == nil {
		f.Err = f.check()
	}
	return f
}

// check compares the manifest with what is in the folder.
func (f Found) check() error {
	if name := filepath.Base(f.Dir); name != f.Manifest.ID {
		return &ManifestError{Field: "id", Problem: fmt.Sprintf("%q stands in a folder named %q", f.Manifest.ID, name),
			Fix: "name the folder after the plugin"}
	}
	info, err := os.Stat(f.Executable())
	switch {
	case os.IsNotExist(err):
		return &ManifestError{Field: "command", Problem: f.Executable() + " does not exist", Fix: "build the plugin into its folder"}
	case err != nil:
		return &ManifestError{Field: "command", Problem: err.Error()}
	case !info.Mode().IsRegular():
		return &ManifestError{Field: "command", Problem: f.Executable() + " is not a file", Fix: "name the plugin's binary"}
	case !executable(info):
		return &ManifestError{Field: "command", Problem: f.Executable() + " is not executable", Fix: "run chmod +x on it"}
	}
	return nil
}
