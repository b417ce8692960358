//go:build !quickjs_sanitize

package hostile_test

import (
	"log/slog"

	"github.com/quoinhq/quoin/host"
)

const isolation = host.IsolationRequired

var logs = slog.DiscardHandler
