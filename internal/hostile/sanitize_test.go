//go:build quickjs_sanitize

package hostile_test

import (
	"log/slog"
	"os"

	"github.com/quoinhq/quoin/host"
)

// A worker that is built with sanitizers does not seal itself.
const isolation = host.IsolationBestEffort

// logs has what the sanitizers find.
var logs slog.Handler = slog.NewTextHandler(os.Stderr, nil)
