//go:build !linux

package main

import (
	"os"
	"os/exec"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

func leadGroup(*exec.Cmd) {}

func signalGroup(cmd *exec.Cmd, _ bool) { _ = cmd.Process.Kill() }

func exitOf(state *os.ProcessState) execution.Exit { return execution.Exit{Code: state.ExitCode()} }
