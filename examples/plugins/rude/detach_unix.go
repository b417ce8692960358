//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// detach puts a command into a session of its own, out of reach of signals to
// the plugin's process group.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
