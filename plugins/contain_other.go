//go:build !linux

package plugins

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// contain refuses: nothing here would end a plugin together with its host.
func contain(*exec.Cmd) error {
	return errors.New("plugins cannot be contained on " + runtime.GOOS + "; run the host on Linux")
}

func withCalmTimers(start func() error) error { return start() }

func waitExit(*os.Process) {}

func killGroup(int) {}

func busyBinary(error) bool { return false }
