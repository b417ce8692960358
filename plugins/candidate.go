package plugins

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/quoinhq/quoin/internal/ownership"
	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// Candidate is a folder that claims to be a plugin.
type Candidate struct {
	// Dir is the folder's absolute path.
	Dir string
	// Manifest is valid if Err is nil.
	Manifest manifest.Manifest
	// ManifestSum is the SHA-256 of the text that Manifest was read from, in hex.
	ManifestSum string
	// Pin is what the files must be when the plugin starts; nil if only the
	// manifest's own checksums count. A [Gate] sets it.
	Pin *trust.Pin
	// Err says why the folder cannot be loaded.
	Err error
}

// ID is the plugin's id: the name of its folder, which a valid manifest
// repeats.
func (f Candidate) ID() string { return filepath.Base(f.Dir) }

// Executable is the absolute path of the plugin's binary.
func (f Candidate) Executable() string {
	return filepath.Join(f.Dir, filepath.FromSlash(f.Manifest.Command))
}

// Discover looks at the folders in dir, in order of name. Folders without a
// plugin.json and folders with a name that starts with a dot are passed over;
// one that cannot be loaded is returned with its Err set and does not hide the
// others. The error is about dir itself.
func Discover(dir string) ([]Candidate, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		return nil, fmt.Errorf("plugin directory: %w", err)
	}
	var found []Candidate
	for _, e := range entries {
		sub := filepath.Join(abs, e.Name())
		if strings.HasPrefix(e.Name(), ".") || !isPluginDir(sub) {
			continue
		}
		found = append(found, Find(sub))
	}
	return found, nil
}

// SkippedDirs returns the folders in dir that Discover passes over because they have
// no plugin.json, in order of name. Folders with a name that starts with a dot are
// not among them.
func SkippedDirs(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("plugin directory: %w", err)
	}
	for _, e := range entries {
		sub := filepath.Join(dir, e.Name())
		if info, err := os.Stat(sub); err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), ".") && !isPluginDir(sub) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func isPluginDir(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, manifest.Name))
	return err == nil
}

// Find looks at one plugin's folder.
func Find(dir string) Candidate {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Candidate{Dir: dir, Err: err}
	}
	f := Candidate{Dir: abs}
	if f.Manifest, f.ManifestSum, f.Err = manifest.ReadWithSum(abs); f.Err == nil {
		f.Err = f.check()
	}
	return f
}

// check compares the manifest with this host and with what is in the folder.
func (f Candidate) check() error {
	if name := filepath.Base(f.Dir); name != f.Manifest.ID {
		return &manifest.Error{Field: "id", Problem: fmt.Sprintf("%q stands in a folder named %q", f.Manifest.ID, name),
			Fix: "name the folder after the plugin"}
	}
	if err := f.Manifest.CheckPlatform(); err != nil {
		return err
	}
	info, err := os.Stat(f.Executable())
	switch {
	case os.IsNotExist(err):
		return &manifest.Error{Field: "command", Problem: f.Executable() + " does not exist", Fix: "build the plugin into its folder"}
	case err != nil:
		return &manifest.Error{Field: "command", Problem: err.Error()}
	case !info.Mode().IsRegular():
		return &manifest.Error{Field: "command", Problem: f.Executable() + " is not a file", Fix: "name the plugin's binary"}
	case !executable(info):
		fix := "make it executable"
		if command := ownership.Repair("+x", f.Executable(), info); command != "" {
			fix = "run " + command
		}
		return &manifest.Error{Field: "command", Problem: f.Executable() + " is not executable", Fix: fix}
	}
	return f.checkFiles()
}

// checkFiles reports files that the manifest names and the folder lacks.
func (f Candidate) checkFiles() error {
	for _, name := range f.Manifest.Files {
		if _, err := os.Stat(filepath.Join(f.Dir, filepath.FromSlash(name))); err != nil {
			return &manifest.Error{Field: "files", Problem: err.Error(), Fix: "put it there, or take it off the list"}
		}
	}
	return nil
}

// startable returns the binary to start and the folder that it takes for its own.
// What is pinned is copied into dir, and the copies are what is returned.
func (f Candidate) startable(dir string) (binary, folder string, err error) {
	if f.Pin != nil {
		if folder, err = f.Pin.CopyPinned(f.Dir, f.Manifest, filepath.Join(dir, "copy")); err != nil {
			return "", "", err
		}
		return filepath.Join(folder, filepath.FromSlash(f.Manifest.Command)), folder, nil
	}
	binary = f.Executable()
	if want := f.Manifest.SHA256[manifest.HostPlatform()]; want != "" {
		binary, err = trust.CopyVerified(binary, want, dir)
	}
	return binary, f.Dir, err
}

// untrusted reports whether an error says that a plugin is not what it has to be.
func untrusted(err error) bool {
	var sum *trust.ChecksumError
	var trust *trust.Error
	return errors.As(err, &sum) || errors.As(err, &trust)
}
