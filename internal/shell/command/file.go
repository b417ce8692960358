package command

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/ownership"
)

// executable is a program that was found.
type executable struct {
	name   string // as it was called, without its directory
	run    string // the absolute path to start it by, which keeps the name
	applet string // the program in a file that has several, if it is called by a word
	path   string // the file, without links
	digest string
}

// line is a command with the program and these arguments.
func (e *executable) line(args []word) string {
	s := quote(e.run)
	if e.applet != "" {
		s += " " + quote(e.name)
	}
	return s + quotedWords(args)
}

// files finds executables in trusted directories, and knows their digests.
type files struct {
	dirs []string

	mu      sync.Mutex
	digests map[string]digested
}

type digested struct {
	size    int64
	changed time.Time
	stamp   string
	digest  string
}

func newFiles(dirs []string) *files {
	return &files{dirs: dirs, digests: map[string]digested{}}
}

// maxExecutable bounds what is read of a file for its digest.
const maxExecutable = 512 << 20

// find finds an executable by its name, or by an absolute path in a trusted directory.
func (f *files) find(name string) (*executable, error) {
	dirs := f.dirs
	if strings.Contains(name, "/") {
		dir := filepath.Dir(name)
		if !filepath.IsAbs(name) || filepath.Clean(name) != name || !slices.Contains(f.dirs, dir) {
			return nil, fmt.Errorf("%s is not in one of the directories of plugins.shell.path", name)
		}
		dirs, name = []string{dir}, filepath.Base(name)
	}
	if name == "" || name == "." || name == ".." {
		return nil, fmt.Errorf("%q is not the name of a program", name)
	}
	for _, dir := range dirs {
		file := filepath.Join(dir, name)
		st, err := os.Stat(file)
		if err != nil || !st.Mode().IsRegular() || st.Mode().Perm()&0o111 == 0 {
			continue
		}
		return f.executable(file, name)
	}
	return nil, fmt.Errorf("no directory of plugins.shell.path has the program %s", name)
}

func (f *files) executable(file, name string) (*executable, error) {
	if err := trusted(file); err != nil {
		return nil, err
	}
	path, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	digest, err := f.digest(path)
	if err != nil {
		return nil, err
	}
	return &executable{name: name, run: filepath.Join(dir, name), path: path, digest: digest}, nil
}

// trusted returns an error if another user could change what a path leads to.
func trusted(file string) error {
	if err := ownership.Check(file); err != nil {
		return fmt.Errorf("%s is not trusted: %w", file, err)
	}
	return nil
}

// digest is the SHA-256 of a file. It is computed again when the file was changed.
func (f *files) digest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", path, err)
	}
	defer func() { _ = file.Close() }()
	st, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() || st.Size() > maxExecutable {
		return "", fmt.Errorf("%s is not a file of at most %d bytes", path, maxExecutable)
	}
	now := digested{size: st.Size(), changed: st.ModTime(), stamp: stamp(st)}
	f.mu.Lock()
	known := f.digests[path]
	f.mu.Unlock()
	if now.digest = known.digest; now.stamp != "" && now == known {
		return known.digest, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(file, maxExecutable)); err != nil {
		return "", err
	}
	now.digest = hex.EncodeToString(h.Sum(nil))
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.digests) >= 512 {
		clear(f.digests)
	}
	f.digests[path] = now
	return now.digest, nil
}
