package main

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/gomodule"
)

// The module that carries the source. Its version is not in go.mod, because its own
// package would be compiled with it.
const (
	sourceModule  = "github.com/buke/quickjs-go"
	sourceVersion = "v0.7.7"
	sourceSum     = "h1:kuG3d0Vnn7LBvO64vgW+fwSZ5E3XK5pcYDttiIYmatw="
	sourceDir     = "deps/quickjs"
)

//go:embed sources.sha256
var sourceSums string

//go:embed patches/*.patch
var patches embed.FS

//go:embed shim
var shim embed.FS

// source is a set of C files by name.
type source map[string][]byte

// loadSource returns all that is compiled: the checked source, patched, and the shim.
func loadSource(patches fs.FS) (source, error) {
	dir, err := gomodule.Fetch(sourceModule, sourceVersion, sourceSum)
	if err != nil {
		return nil, fmt.Errorf("the engine's source: %w", err)
	}
	src, err := checkedFiles(filepath.Join(dir, filepath.FromSlash(sourceDir)), sourceSums)
	if err != nil {
		return nil, err
	}
	if err := src.patchAll(patches); err != nil {
		return nil, err
	}
	return src, src.add(shim)
}

// checkedFiles reads the files that sums names, one a line after its SHA-256.
func checkedFiles(dir, sums string) (source, error) {
	src := source{}
	for line := range strings.Lines(sums) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			return nil, fmt.Errorf("sources.sha256: line %q has no file name", line)
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if got := sha256.Sum256(b); hex.EncodeToString(got[:]) != sum {
			return nil, fmt.Errorf("%s has the SHA-256 %x, expected %s; run go clean -modcache", filepath.Join(dir, name), got, sum)
		}
		src[name] = b
	}
	return src, nil
}

// add takes in the files of a file system by their base names.
func (s source) add(files fs.FS) error {
	return fs.WalkDir(files, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := filepath.Base(path)
		if _, taken := s[name]; taken {
			return fmt.Errorf("two files are named %s", name)
		}
		s[name], err = fs.ReadFile(files, path)
		return err
	})
}

// names returns the names of all files, in order.
func (s source) names() []string {
	var names []string
	for name := range s {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// sum identifies the files.
func (s source) sum() [32]byte {
	h := sha256.New()
	for _, name := range s.names() {
		fmt.Fprintf(h, "%s %d\n", name, len(s[name]))
		h.Write(s[name])
	}
	return [32]byte(h.Sum(nil))
}

// write puts the files into a directory.
func (s source) write(dir string) error {
	for name, b := range s {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}
