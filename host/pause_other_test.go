//go:build !linux

package host_test

func servePaused() bool { return false }
