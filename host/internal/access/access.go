// Package access is what the servers of this module reach of a host, and embedders do not.
package access

import (
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/debuglog"
	"github.com/quoinhq/quoin/host/internal/runs"
)

// Host is what there is of a *host.Host.
type Host struct {
	// Quotas are Config.Quotas with every default filled in.
	Quotas codemode.Quotas
	// Engine reports panics and refusals.
	Engine *runs.Engine
	// Debug is the log that the QUOIN_DEBUG_* variables ask for, nil when they ask for nothing. A
	// nil log can be used.
	Debug *debuglog.Log
	// PluginDir is the directory of plugins, or "".
	PluginDir string
}

// OfHost takes a *host.Host. Package host, which this one cannot import, sets it.
var OfHost func(host any) Host
