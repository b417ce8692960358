//go:build !linux

package childprocess

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// prepare refuses: nothing here would end a program together with its host.
func prepare(*exec.Cmd) error {
	return errors.New("programs cannot be contained on " + runtime.GOOS + "; run the host on Linux")
}

func withRelaxedTimerSlack(start func() error) error { return start() }

func waitExit(*os.Process) {}

func killGroup(int) {}

func terminateGroup(int) {}

// IsTextBusy reports whether a start failed because the file is open for writing
// somewhere.
func IsTextBusy(error) bool { return false }
