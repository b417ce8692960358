package main

import (
	"errors"

	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/node"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// nodeSandbox is the sandbox of a node.
func nodeSandbox(*settings.Settings, *node.Options) (execution.Launcher, func() error, error) {
	return nil, nil, errors.New("plugins.shell.host: this build has no sandbox: set it to gateway")
}
