//go:build !(linux && quickjs_c)

package guestserver

// checkLinkage finds nothing to object to: without C code there is no library.
func checkLinkage() error { return nil }
