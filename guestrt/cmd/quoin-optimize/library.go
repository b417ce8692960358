package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/quoinhq/quoin/internal/gomodule"
)

// The module that is rewritten, in the version that the optimiser is tested with.
const (
	libraryModule  = "modernc.org/libquickjs"
	libraryVersion = "v0.14.0"
	librarySum     = "h1:ck6Rs/h9ImLWG/+KfYMBCcm2mPhC2PpLXcIdu4KqAF4="
)

// frames is the file that the rewritten functions need.
//
//go:embed frames.go.txt
var frames []byte

// loadLibrary returns the files of the rewritten package by name.
func loadLibrary() (map[string][]byte, error) {
	dir, err := fetchLibrary()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"frames.go": frames}
	for _, pattern := range []string{"*.go", "go.mod", "LICENSE*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			base := filepath.Base(name)
			if strings.HasSuffix(base, "_test.go") || base == "generator.go" || !targets(base) {
				continue
			}
			if files[base], err = os.ReadFile(name); err != nil {
				return nil, err
			}
		}
	}
	for base, source := range files {
		if strings.HasPrefix(base, "ccgo_") {
			if files[base], err = rewrite(source); err != nil {
				return nil, fmt.Errorf("rewrite %s: %w", base, err)
			}
		}
	}
	// XJS_UpdateStackTop, which the engine calls where no guest runs, asks for the
	// stack pointer.
	for base := range files {
		if strings.HasPrefix(base, "ccgo_") {
			if err := replaceOnce(files, base, "func _js_get_stack_pointer(tls *libc.TLS) (r Tuintptr_t) {\n",
				"func _js_get_stack_pointer(tls *libc.TLS) (r Tuintptr_t) {\n\tdropFrames()\n"); err != nil {
				return nil, err
			}
		}
	}
	return files, replaceOnce(files, "libquickjs.go",
		"Tuintptr_t(tls.StackSlots()) < limit", "frameBytes(uintptr(sz)) < uintptr(limit)*bytesPerSlot")
}

// targets reports whether a file is of a platform that guests run on, or of all.
func targets(base string) bool {
	return !strings.HasPrefix(base, "ccgo_") || base == "ccgo_linux_amd64.go" || base == "ccgo_linux_arm64.go"
}

// replaceOnce replaces a text that must be there once.
func replaceOnce(files map[string][]byte, name, from, to string) error {
	if n := bytes.Count(files[name], []byte(from)); n != 1 {
		return fmt.Errorf("%s has %q %d times, expected once", name, from, n)
	}
	files[name] = bytes.Replace(files[name], []byte(from), []byte(to), 1)
	return nil
}

// fetchLibrary returns the directory of the library's module.
func fetchLibrary() (string, error) {
	version, err := goOutput("list", "-mod=mod", "-m", "-f", "{{.Version}}{{with .Replace}} => {{.Path}}{{end}}", libraryModule)
	if err != nil {
		return "", fmt.Errorf("find the version of %s, in a module that requires Quoin: %w", libraryModule, err)
	}
	if version != libraryVersion {
		return "", fmt.Errorf("this module uses %s %s; the optimiser knows %s", libraryModule, version, libraryVersion)
	}
	return gomodule.Fetch(libraryModule, libraryVersion, librarySum)
}

// goOutput runs the Go tool in this module, outside of every workspace.
func goOutput(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s%s", strings.Join(args, " "), err, out, errs.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

// writeWhole writes a file so that others see all of it or nothing.
func writeWhole(name string, data []byte) error {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(fs.FileMode(0o644))
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the write's error counts
	}
	return err
}
