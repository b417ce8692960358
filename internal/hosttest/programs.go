package hosttest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	module = "github.com/quoinhq/quoin"
	// programsVariable names the folder of built programs, which test processes of
	// several users may share. It defaults to quoin/test-programs in the user's cache.
	programsVariable = "QUOIN_TEST_PROGRAMS"
	// unusedFor is how long programs of other sources are kept.
	unusedFor = 48 * time.Hour
)

var (
	root     = sync.OnceValues(func() (string, error) { return goList("-m", "-f", "{{.Dir}}", module) })
	programs = sync.OnceValues(openPrograms)
	built    sync.Map // by name: what program returns
)

// program returns the program of that name. The first test process that asks for it has
// it built; every later one, of the same sources, takes what stands in the folder of
// programs. The build writes the program to the path that it is given.
func program(name string, build func(path string) error) (string, error) {
	once, _ := built.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		dir, err := programs()
		if err != nil {
			return "", fmt.Errorf("the folder of programs for tests: %w", err)
		}
		path := filepath.Join(dir, name)
		return path, buildOnce(path, build)
	}))
	return once.(func() (string, error))()
}

// buildOnce builds a program unless it stands. Processes that want one program wait for
// the first of them.
func buildOnce(path string, build func(path string) error) (err error) {
	if exists(path) {
		return nil
	}
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if exists(path) {
		return nil
	}
	fresh, err := os.MkdirTemp(filepath.Dir(path), "building-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	made := filepath.Join(fresh, filepath.Base(path))
	if err := build(made); err != nil {
		return err
	}
	return os.Rename(made, path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// openPrograms returns the folder for programs of the sources as they are now, and
// removes the folders of sources that no test has used for long.
func openPrograms() (string, error) {
	parent := os.Getenv(programsVariable)
	if parent == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		parent = filepath.Join(cache, "quoin", "test-programs")
	}
	key, err := sourcesKey()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(parent, key)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err != nil && !errors.Is(err, fs.ErrPermission) {
		return "", err
	}
	return dir, sweepPrograms(parent, now.Add(-unusedFor))
}

// sweepPrograms removes the folders that were last used before a time. Another user's
// folders stay.
func sweepPrograms(parent string, before time.Time) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || !info.ModTime().Before(before) {
			continue // another process may have removed it
		}
		if err := os.RemoveAll(filepath.Join(parent, e.Name())); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// sourcesKey names what programs are built of: the toolchain, its settings, and all files
// of the module that a guest or a plugin can be built of. They import nothing of host,
// which import rules prove.
func sourcesKey() (string, error) {
	dir, err := root()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, name := range []string{"GOAMD64", "GOARM64", "GOEXPERIMENT", "CC"} {
		fmt.Fprintf(sum, "%s=%q\n", name, os.Getenv(name))
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if e.IsDir() && notBuilt(filepath.ToSlash(below)) {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() || strings.HasSuffix(below, "_test.go") || strings.HasSuffix(below, ".md") {
			return nil
		}
		return sumFile(sum, path, below)
	})
	return fmt.Sprintf("%x", sum.Sum(nil)[:16]), err
}

// notBuilt reports whether no program for tests is built of a directory.
func notBuilt(dir string) bool {
	name := filepath.Base(dir)
	return dir != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || dir == "bin" || dir == "docs" || dir == "host")
}

func sumFile(sum hash.Hash, path, name string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(sum, "%q %d\n%s", name, len(b), b)
	return err
}

// goList returns the line that go list prints.
func goList(args ...string) (string, error) {
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("go list %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
