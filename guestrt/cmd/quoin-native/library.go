package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// units are the files that are compiled, each to an object. The shim includes the
// engine.
var units = []string{"shim.c", "libregexp.c", "libunicode.c", "dtoa.c"}

const libraryName = "quoinjs"

// library is a compiled engine in a directory of its own.
type library struct {
	dir      string
	sanitize bool
}

// compiler is the C compiler: $CC, or cc.
func compiler() (string, error) {
	name := os.Getenv("CC")
	if name == "" {
		name = "cc"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("the native engine needs a C compiler: %w; install gcc or clang, or name one in CC", err)
	}
	return path, nil
}

// target is the architecture to build for: $GOARCH, or this one. Another needs a
// compiler for it in $CC.
func target() string {
	if arch := os.Getenv("GOARCH"); arch != "" {
		return arch
	}
	return runtime.GOARCH
}

// cflags are the options that every file of C is compiled with.
func cflags(sanitize bool) []string {
	flags := []string{"-std=gnu11", "-g0", "-funsigned-char", "-fwrapv", "-fno-math-errno", "-D_GNU_SOURCE",
		"-fno-pic", "-fno-pie", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections",
		"-fno-strict-aliasing", "-Wformat", "-Werror=format-security"}
	if sanitize {
		return append(flags, "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer")
	}
	return append(append(flags, "-O2"), hardening()...)
}

// buildLibrary compiles the engine with these patches, unless the cache has it.
func buildLibrary(sanitize bool, patches fs.FS) (*library, error) {
	cc, err := compiler()
	if err != nil {
		return nil, err
	}
	version, err := exec.Command(cc, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --version: %w", cc, err)
	}
	src, err := loadSource(patches)
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%x\n%s\n%s\n%s", src.sum(), target(), version, strings.Join(cflags(sanitize), " ")))
	l := &library{dir: filepath.Join(cache, "quoin", "native", fmt.Sprintf("%x", key[:16])), sanitize: sanitize}
	if _, err := os.Stat(l.archive()); err == nil {
		return l, nil
	}
	return l, l.compile(cc, src)
}

func (l *library) archive() string { return filepath.Join(l.dir, "lib"+libraryName+".a") }

// compile makes the library in a directory that is moved to its place when whole.
func (l *library) compile(cc string, src source) error {
	if err := os.MkdirAll(filepath.Dir(l.dir), 0o700); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(l.dir), "work-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := src.write(work); err != nil {
		return err
	}
	if err := compileUnits(cc, work, cflags(l.sanitize)); err != nil {
		return err
	}
	if err := archiveUnits(work); err != nil {
		return err
	}
	if err := os.Rename(work, l.dir); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, statErr := os.Stat(l.archive()); statErr != nil {
			return err
		}
	}
	return nil
}

func compileUnits(cc, dir string, flags []string) error {
	errs := make([]error, len(units))
	var all sync.WaitGroup
	for i, unit := range units {
		all.Go(func() { errs[i] = run(dir, nil, cc, append(flags[:len(flags):len(flags)], "-c", unit)...) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// archiveUnits puts the objects into the archive, without times and owners.
func archiveUnits(dir string) error {
	args := []string{"rcsD", "lib" + libraryName + ".a"}
	for _, unit := range units {
		args = append(args, strings.TrimSuffix(unit, ".c")+".o")
	}
	return run(dir, nil, "ar", args...)
}

// run runs a program to its end. What it says is ours to say.
func run(dir string, env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
