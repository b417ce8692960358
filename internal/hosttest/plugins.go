package hosttest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
		f, err := os.Open(from)
		if err != nil {
			return err
		}
		err = copyExecutable(filepath.Join(own, to), f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// WriteExecutable writes a file that the test is about to run.
func WriteExecutable(path string, b []byte) error {
	return copyExecutable(path, bytes.NewReader(b))
}

// copyExecutable is WriteExecutable for what a reader has. The file is complete when it has
// its name, under which another may run. No other test starts a process at that time: the
// process would have the file open, and the system runs no file that is open for writing.
func copyExecutable(path string, from io.Reader) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	to, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Chmod(0o755), to.Close()); err != nil {
		return errors.Join(err, os.Remove(to.Name()))
	}
	return os.Rename(to.Name(), path)
}

// Program builds the program of a folder of this module, and returns its path. The
// program imports nothing below host. Do not write to its file: other tests run it.
func Program(folder string) (string, error) {
	return program(filepath.Base(folder), func(path string) error {
		return goTool([]string{"build", "-buildvcs=false", "-pgo=off", "-buildmode=exe", "-o", path, module + "/" + folder})
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
