// Package hosttest helps tests of this module that need the real thing: it builds
// the guest worker, and the example plugins into a host's plugin directory.
package hosttest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

const (
	pluginPackage  = "github.com/quoinhq/quoin/examples/plugins/"
	bundledPackage = "github.com/quoinhq/quoin/plugins/" // and its name
)

// builds are the programs built so far by this process.
var builds struct {
	sync.Mutex
	dir  string
	done map[string]error
}

// Guest builds the guest worker, once per process, as make build does, and
// returns its path: that of the native engine in tests that are built with the tag
// quickjs_c. Unlike a test binary that serves as its own guest, it is never slowed
// down by the race detector.
func Guest() (string, error) { return guest("quoin-guest", buildGuest) }

// NativeGuest builds the guest worker of the native engine, once per process, with the
// command that a host names where it misses one. It needs a C compiler: see HasCompiler.
func NativeGuest() (string, error) {
	return guest("quoin-guest-native", func(bin string) []string {
		return []string{"run", "github.com/quoinhq/quoin/guestrt/cmd/quoin-native", "-o", bin}
	})
}

// HasCompiler reports whether there is the C compiler that the native engine needs.
func HasCompiler() bool {
	_, err := exec.LookPath(cmp.Or(os.Getenv("CC"), "cc"))
	return err == nil && runtime.GOOS == "linux"
}

// buildDefaultGuest are the arguments with which the Go tool builds the worker of the
// default engine: where guests run, with the optimised library, as make build does.
func buildDefaultGuest(bin string) []string {
	if runtime.GOOS == "linux" {
		return []string{"run", "github.com/quoinhq/quoin/guestrt/cmd/quoin-optimize", "-o", bin}
	}
	return []string{"build", "-trimpath", "-buildvcs=false", "-buildmode=exe", "-ldflags=-buildid=", "-o", bin, "github.com/quoinhq/quoin/guestrt/cmd/quoin-guest"}
}

func guest(name string, arguments func(bin string) []string) (string, error) {
	return once(name, func(bin string) error {
		return buildWorker(arguments(bin))
	})
}

// buildWorker has the Go tool build a guest worker.
func buildWorker(arguments []string, env ...string) error {
	cmd := exec.Command("go", arguments...)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the guest worker: %w\n%s", err, out)
	}
	return nil
}

// Install builds the example plugin of that name, once per process, and puts it
// with its manifest into dir/name. It is safe for concurrent use.
func Install(dir, name string) error { return install(dir, name, pluginPackage+name) }

// InstallBundled is Install for a bundled plugin.
func InstallBundled(dir, name string) error { return install(dir, name, bundledPackage+name) }

func install(dir, name, pkg string) error {
	bin, manifest, err := build(name, pkg)
	if err != nil {
		return err
	}
	own := filepath.Join(dir, name)
	if err := os.MkdirAll(own, 0o755); err != nil {
		return err
	}
	return errors.Join(place(bin, filepath.Join(own, name)), place(manifest, filepath.Join(own, "plugin.json")))
}

// Clean removes what Install has built. Call it when the tests have run.
func Clean() error {
	builds.Lock()
	defer builds.Unlock()
	if builds.dir == "" {
		return nil
	}
	dir := builds.dir
	builds.dir, builds.done = "", nil
	return os.RemoveAll(dir)
}

// place links a file, or copies it where it cannot be linked.
func place(from, to string) error {
	if err := os.Link(from, to); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}

// build builds a plugin and fetches its manifest.
func build(name, pkg string) (bin, manifest string, err error) {
	bin, err = once(name, func(bin string) error {
		if out, err := exec.Command("go", "build", "-o", bin, pkg).CombinedOutput(); err != nil {
			return fmt.Errorf("building plugin %s: %w\n%s", name, err, out)
		}
		src, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
		if err != nil {
			return fmt.Errorf("finding plugin %s: %w", name, err)
		}
		b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(src)), "plugin.json"))
		if err != nil {
			return err
		}
		return os.WriteFile(bin+".json", b, 0o644)
	})
	return bin, bin + ".json", err
}

// once runs make for a program unless it has been made.
func once(name string, make func(bin string) error) (string, error) {
	builds.Lock()
	defer builds.Unlock()
	if builds.dir == "" {
		dir, err := os.MkdirTemp("", "quoin-built-")
		if err != nil {
			return "", err
		}
		builds.dir, builds.done = dir, map[string]error{}
	}
	bin := filepath.Join(builds.dir, name)
	err, known := builds.done[name]
	if !known {
		err = make(bin)
		builds.done[name] = err
	}
	return bin, err
}

// engineID starts the id of the default engine in its worker.
var engineID = regexp.MustCompile(`quickjs-\d{4}-\d\d-\d\d/`)

// RenamedGuest writes the guest worker of the default engine to a file, changed so that it says to run the
// native engine. It is for tests of the choice between the two, which need no C compiler.
func RenamedGuest(path string) error {
	built, err := DefaultGuest()
	if err != nil {
		return err
	}
	b, err := os.ReadFile(built)
	if err != nil {
		return err
	}
	if !engineID.Match(b) {
		return fmt.Errorf("the guest worker does not have an engine id of the form %v", engineID)
	}
	return os.WriteFile(path, engineID.ReplaceAll(b, []byte("quickjs-ng-renamed/")), 0o755)
}
