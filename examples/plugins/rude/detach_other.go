//go:build !unix

package main

import "os/exec"

// detach does nothing: there are no sessions to hide in.
func detach(*exec.Cmd) {}
