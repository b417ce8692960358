//go:build !unix

package ownership

// CheckTree accepts every path: modes do not say who may write to it.
func CheckTree(string) error { return nil }

// Check accepts every path.
func Check(string) error { return nil }
