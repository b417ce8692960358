package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// Files next to a manifest that describe the contents and are not part of them.
const (
	// SumsName is the file that lists the contents of a packed plugin.
	SumsName = "plugin.sum"
	// SignatureName is the file that signs SumsName.
	SignatureName = "plugin.sig"
)

// Limits of what a plugin consists of, on disk and in an archive.
const (
	// MaxContentsFiles bounds the files of a plugin.
	MaxContentsFiles = 16 << 10
	// MaxContentsBytes bounds their size together.
	MaxContentsBytes = 1 << 30
	// maxContentsPath bounds the path of a file, in bytes.
	maxContentsPath = 1 << 10
	// maxSumsBytes bounds the text of a list.
	maxSumsBytes = 8 << 20
)

// FileSum is one file of a plugin and its checksum.
type FileSum struct {
	// Path is relative to the plugin's folder, with / between names.
	Path string
	// SHA256 is in lower-case hex.
	SHA256 string
}

// Contents are the files a plugin consists of, sorted by path: its manifest, the
// binaries of every platform, and what the manifest names in files. Other files in the
// folder are not part of the plugin: they are neither packed nor installed, and a change
// of them changes nothing. Two plugins with equal Contents are the same plugin.
type Contents []FileSum

// Sum returns the SHA-256 of the file with that path; empty if the path is not listed.
func (c Contents) Sum(path string) string {
	i, ok := slices.BinarySearchFunc(c, path, func(f FileSum, path string) int { return cmp.Compare(f.Path, path) })
	if !ok {
		return ""
	}
	return c[i].SHA256
}

// Text writes the contents as plugin.sum has them: a line for each file, checksum first,
// which the program sha256sum reads too. Equal contents have equal texts, so that a
// signature of the text is one of the contents.
func (c Contents) Text() []byte {
	var b strings.Builder
	for _, f := range c {
		b.WriteString(f.SHA256 + "  " + f.Path + "\n")
	}
	return []byte(b.String())
}

// parseContents reads what Text has written, and nothing else: paths that lead
// outside, repeated or unsorted ones are refused.
func parseContents(text []byte) (Contents, error) {
	if len(text) > maxSumsBytes {
		return nil, fmt.Errorf("%s has %d bytes; the limit is %d", SumsName, len(text), maxSumsBytes)
	}
	var c Contents
	for i, line := range strings.SplitAfter(string(text), "\n") {
		if line == "" {
			break
		}
		bad := func(problem string) error {
			return fmt.Errorf("%s line %d: %s; pack the plugin again", SumsName, i+1, problem)
		}
		line, ended := strings.CutSuffix(line, "\n")
		sum, name, spaced := strings.Cut(line, "  ")
		switch {
		case !ended || !spaced || !manifest.IsSHA256(sum):
			return nil, bad("expected a checksum of 64 lower-case hex digits, two spaces and a path")
		case CheckContentsPath(name) != nil:
			return nil, bad(CheckContentsPath(name).Error())
		case len(c) > 0 && c[len(c)-1].Path >= name:
			return nil, bad(fmt.Sprintf("%q is out of order or listed twice", name))
		case len(c) == MaxContentsFiles:
			return nil, bad(fmt.Sprintf("more than %d files", MaxContentsFiles))
		}
		c = append(c, FileSum{Path: name, SHA256: sum})
	}
	if len(c) == 0 {
		return nil, fmt.Errorf("%s is empty; pack the plugin again", SumsName)
	}
	return c, nil
}

// CheckContentsPath returns an error if path cannot name a file of a plugin: if it leads
// out of the plugin's folder on any system, or has more than 1024 bytes.
func CheckContentsPath(path string) error {
	switch {
	case len(path) > maxContentsPath:
		return fmt.Errorf("the path %.40q… has %d bytes; the limit is %d", path, len(path), maxContentsPath)
	case !manifest.IsPath(path) || strings.HasPrefix(path, "./") || !filepath.IsLocal(filepath.FromSlash(path)):
		return fmt.Errorf("%.200q is not a path inside the plugin's folder", path)
	}
	return nil
}

// ReadContents lists and hashes the files of the plugin in dir with manifest m. Links are
// followed to files, and refused if they lead to folders. It fails if there are more than
// MaxContentsFiles files or more than MaxContentsBytes bytes. The folder may change while
// it is read: use [Pin.CopyPinned] for files that are to run.
func ReadContents(dir string, m manifest.Manifest) (Contents, error) {
	names, err := ContentsPaths(dir, m)
	if err != nil {
		return nil, err
	}
	var c Contents
	left := int64(MaxContentsBytes)
	for _, name := range names {
		h := sha256.New()
		n, err := durable.Copy(h, filepath.Join(dir, filepath.FromSlash(name)), left)
		if errors.Is(err, fs.ErrNotExist) && slices.Contains(m.CommandPaths(), name) {
			return nil, fmt.Errorf("the manifest's command cannot be read: %w; build the plugin into its folder", err)
		}
		if err != nil {
			return nil, err
		}
		left -= n
		c = append(c, FileSum{Path: name, SHA256: hex.EncodeToString(h.Sum(nil))})
	}
	return c, nil
}

// ContentsPaths returns the paths of the files that [ReadContents] would hash, sorted,
// without reading them.
func ContentsPaths(dir string, m manifest.Manifest) ([]string, error) {
	seen := map[string]bool{manifest.Name: true}
	for _, command := range m.CommandPaths() {
		seen[command] = true
	}
	for _, named := range m.Files {
		if err := addPaths(seen, dir, path.Clean(named)); err != nil {
			return nil, &manifest.Error{Field: "files", Problem: err.Error()}
		}
	}
	for _, own := range []string{SumsName, SignatureName, LockName} {
		if seen[own] {
			return nil, &manifest.Error{Field: "files", Problem: fmt.Sprintf("%q is not for plugins to name", own), Fix: "take it off the list"}
		}
	}
	return slices.Sorted(maps.Keys(seen)), nil
}

// addPaths adds a file, or the files below a folder.
func addPaths(seen map[string]bool, dir, named string) error {
	root := filepath.Join(dir, filepath.FromSlash(named))
	return filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return nil
		}
		if info, err := os.Stat(at); err != nil {
			return err
		} else if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a folder, or a link to a folder", at)
		}
		rel, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if err := CheckContentsPath(name); err != nil {
			return err
		}
		if seen[name] = true; len(seen) > MaxContentsFiles {
			return fmt.Errorf("the plugin has more than %d files", MaxContentsFiles)
		}
		return nil
	})
}

// filesSum is the SHA-256 of the list of what is neither the manifest nor a
// binary; empty if there is nothing else.
func (c Contents) filesSum(m manifest.Manifest) string {
	var others Contents
	binaries := m.CommandPaths()
	for _, f := range c {
		if f.Path != manifest.Name && !slices.Contains(binaries, f.Path) {
			others = append(others, f)
		}
	}
	if len(others) == 0 {
		return ""
	}
	sum := sha256.Sum256(others.Text())
	return hex.EncodeToString(sum[:])
}
