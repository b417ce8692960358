package plugins

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Candidate is a folder that claims to be a plugin.
type Candidate struct {
	// Dir is the folder's absolute path.
	Dir string
	// Manifest is valid if Err is nil.
	Manifest Manifest
	// ManifestSum is the SHA-256 of the text that Manifest was read from, in hex.
	ManifestSum string
	// Pin is what the files must be when the plugin starts; nil if only the
	// manifest's own checksums count. A [Gate] sets it.
	Pin *Pin
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
// plugin.json and those whose name starts with a dot are passed over; one that
// cannot be loaded is returned with its Err set and does not hide the others.
// The error is about dir itself.
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
// no plugin.json, in order of name. Those whose name starts with a dot are not among
// them.
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
	_, err := os.Lstat(filepath.Join(dir, ManifestName))
	return err == nil
}

// Find looks at one plugin's folder.
func Find(dir string) Candidate {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Candidate{Dir: dir, Err: err}
	}
	f := Candidate{Dir: abs}
	if f.Manifest, f.ManifestSum, f.Err = readManifest(abs); f.Err == nil {
		f.Err = f.check()
	}
	return f
}

// check compares the manifest with this host and with what is in the folder.
func (f Candidate) check() error {
	if name := filepath.Base(f.Dir); name != f.Manifest.ID {
		return &ManifestError{Field: "id", Problem: fmt.Sprintf("%q stands in a folder named %q", f.Manifest.ID, name),
			Fix: "name the folder after the plugin"}
	}
	if err := f.Manifest.checkPlatform(); err != nil {
		return err
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
	return f.checkFiles()
}

// checkPlatform reports whether the manifest has what this process's platform
// needs.
func (m Manifest) checkPlatform() error {
	host := hostPlatform()
	switch {
	case m.Command == "":
		return &ManifestError{Field: "command", Problem: "no entry for this host's platform " + host,
			Fix: "add the binary for " + host + ", or install the plugin on one of " + strings.Join(slices.Sorted(maps.Keys(m.Commands)), ", ")}
	case !filepath.IsLocal(filepath.FromSlash(m.Command)):
		return &ManifestError{Field: "command", Problem: fmt.Sprintf("%q leads out of the plugin's folder on %s", m.Command, host), Fix: "choose another name"}
	case m.SHA256 != nil && m.SHA256[host] == "":
		return &ManifestError{Field: "sha256", Problem: "no entry for this host's platform " + host,
			Fix: "add the checksum of the binary for " + host + ", or remove the field"}
	}
	return nil
}

// checkFiles reports files that the manifest names and the folder lacks.
func (f Candidate) checkFiles() error {
	for _, name := range f.Manifest.Files {
		if _, err := os.Stat(filepath.Join(f.Dir, filepath.FromSlash(name))); err != nil {
			return &ManifestError{Field: "files", Problem: err.Error(), Fix: "put it there, or take it off the list"}
		}
	}
	return nil
}
