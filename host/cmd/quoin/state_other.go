//go:build !unix

package main

// checkState has nothing to look at where modes do not say who may write.
func checkState(string) error { return nil }
