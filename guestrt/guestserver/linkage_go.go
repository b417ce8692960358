//go:build !(linux && quickjs_c) || quickjs_sanitize

package guestserver

// checkLinkage finds nothing to object to: without C code there is no library, and
// sanitizers need theirs to be dynamic.
func checkLinkage() error { return nil }
