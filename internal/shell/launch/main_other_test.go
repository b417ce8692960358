//go:build !linux

package launch

var helpers = map[string]func() int{}
