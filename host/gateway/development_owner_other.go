//go:build !linux

package gateway

import (
	"errors"

	"github.com/quoinhq/quoin/plugins"
)

// checkOwner refuses every plugin: this system does not tell who may write to a file.
func checkOwner(plugins.Candidate) error {
	return errors.New("plugins in development are not taken on this system: who may write to a folder cannot be told")
}
