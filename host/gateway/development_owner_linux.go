package gateway

import "github.com/quoinhq/quoin/plugins"

// checkOwner refuses a plugin that other users of the machine may have put there,
// or may change: each of them can connect to a loopback address.
func checkOwner(f plugins.Candidate) error { return f.CheckOwner() }
