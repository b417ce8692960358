//go:build !unix

package main

import "log/slog"

// hearHangups has nothing to do: there is no SIGHUP.
func hearHangups(*slog.Logger) (release func()) { return func() {} }
