//go:build !linux

package plugins

// CheckOwner checks nothing: no plugin starts on this system.
func (f Candidate) CheckOwner() error { return nil }
