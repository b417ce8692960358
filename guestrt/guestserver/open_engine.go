package guestserver

import (
	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/guestrt/internal/engine/quickjs"
)

// openEngine builds the engine every worker runs.
func openEngine(buildID [32]byte) (engine.Engine, error) {
	return quickjs.Open(quickjs.Config{BuildID: buildID})
}
