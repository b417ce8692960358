package guestserver

import (
	"github.com/quoinhq/quoin/guestrt/engine"
	"github.com/quoinhq/quoin/guestrt/engine/quickjs"
)

// openEngine builds the engine every worker runs.
func openEngine(buildID [32]byte) (engine.Engine, error) {
	return quickjs.Open(quickjs.Config{BuildID: buildID})
}
