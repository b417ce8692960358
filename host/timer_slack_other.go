//go:build !linux

package host

// RelaxTimerSlack does nothing on this system.
func RelaxTimerSlack() error { return nil }
