// Package hosttest helps tests of this module that need real plugins: it builds
// the example plugins and lays them out as a host's plugin directory.
package hosttest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// module is the prefix of the example plugins' import paths.
const module = "github.com/quoinhq/quoin/examples/plugins/"

// builds are the plugins built so far by this process.
var builds struct {
	sync.Mutex
	dir  string
	done map[string]error
}

// Install builds the example plugin of that name, once per process, and puts it
// with its manifest into dir/name. It is safe for concurrent use.
func Install(dir, name string) error {
	bin, manifest, err := build(name)
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

func build(name string) (bin, manifest string, err error) {
	builds.Lock()
	defer builds.Unlock()
	if builds.dir == "" {
		dir, err := os.MkdirTemp("", "quoin-plugins-")
		if err != nil {
			return "", "", err
		}
		builds.dir, builds.done = dir, make(map[string]error)
	}
	bin, manifest = filepath.Join(builds.dir, name), filepath.Join(builds.dir, name+".json")
	err, known := builds.done[name]
	if !known {
		err = compile(name, bin, manifest)
		builds.done[name] = err
	}
	return bin, manifest, err
}

func compile(name, bin, manifest string) error {
	if out, err := exec.Command("go", "build", "-o", bin, module+name).CombinedOutput(); err != nil {
		return fmt.Errorf("building plugin %s: %w\n%s", name, err, out)
	}
	src, err := exec.Command("go", "list", "-f", "{{.Dir}}", module+name).Output()
	if err != nil {
		return fmt.Errorf("finding plugin %s: %w", name, err)
	}
	b, err := os.ReadFile(filepath.Join(string(src[:len(src)-1]), "plugin.json"))
	if err != nil {
		return err
	}
	return os.WriteFile(manifest, b, 0o644)
}
