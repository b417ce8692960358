//go:build !unix

package durable

// SyncDir does nothing: this system does not sync directories.
func SyncDir(string) error { return nil }
