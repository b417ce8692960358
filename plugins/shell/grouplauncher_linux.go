package main

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

func leadGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// signalGroup is of no effect once the group has gone.
func signalGroup(cmd *exec.Cmd, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-cmd.Process.Pid, sig)
}

func exitOf(state *os.ProcessState) execution.Exit {
	status := state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return execution.Exit{Code: -1, Signal: unix.SignalName(status.Signal())}
	}
	return execution.Exit{Code: status.ExitStatus()}
}
