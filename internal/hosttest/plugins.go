package hosttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Install puts the example plugin of that name with its manifest into dir/name. It is
// safe for concurrent use.
func Install(dir, name string) error { return install(dir, name, "examples/plugins/"+name) }

// InstallBundled is Install for a bundled plugin.
func InstallBundled(dir, name string) error { return install(dir, name, "plugins/"+name) }

func install(dir, name, folder string) error {
	bin, err := Program(folder)
	if err != nil {
		return err
	}
	top, err := root()
	if err != nil {
		return err
	}
	own := filepath.Join(dir, name)
	if err := os.MkdirAll(own, 0o755); err != nil {
		return err
	}
	for from, to := range map[string]string{bin: name, filepath.Join(top, folder, "plugin.json"): "plugin.json"} {
		b, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := WriteExecutable(filepath.Join(own, to), b); err != nil {
			return err
		}
	}
	return nil
}

// WriteExecutable writes a file that the test is about to run. No other test starts a
// process meanwhile: it would have the file open, and the system runs no file that is open
// for writing.
func WriteExecutable(path string, b []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, b, 0o755)
}

// Program builds the program of a folder of this module, and returns its path. The
// program imports nothing below host. Do not write to its file: other tests run it.
func Program(folder string) (string, error) {
	return program(filepath.Base(folder), func(path string) error {
		return goTool([]string{"build", "-trimpath", "-buildvcs=false", "-pgo=off", "-buildmode=exe", "-o", path, module + "/" + folder})
	})
}

// goTool runs the Go tool without cgo.
func goTool(arguments []string, env ...string) error {
	cmd := exec.Command("go", arguments...)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", arguments[0], err, out)
	}
	return nil
}
