//go:build !linux

package main

// isMachine reports that the machine is a Linux.
func isMachine() bool { return false }

func beMachine() {}
