//go:build !unix

package process

import "log/slog"

// LogHangups has nothing to do: there is no SIGHUP.
func LogHangups(*slog.Logger) (release func()) { return func() {} }
