package guestrt

import (
	"context"
	"fmt"

	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// Inspection is what a look at one worker of this system found.
type Inspection struct {
	Engine    Engine       // which of the two was looked for or, with EngineAuto, found
	GuestPath string       // the executable, or "" if it was not found
	BuildID   [32]byte     // its SHA-256
	EngineID  string       // id of the engine it runs, or "" if it did not start
	Layers    []wire.Layer // all off if no worker started
	Err       error        // why no worker started
}

// Inspect starts one worker as a pool of best-effort isolation would, looks at
// it and ends it. sandbox.Tier and sandbox.Lacking judge the layers.
func Inspect(ctx context.Context, c Config) (*Inspection, error) {
	c.Isolation, c.Prepared = IsolationBestEffort, 1
	c = c.filled()
	in := &Inspection{Engine: kindOf(c.Engine).engine}
	b, err := findBinary(c)
	if err != nil {
		in.Err, in.Layers = err, sandbox.Unsealed("there is no worker")
		return in, nil
	}
	in.Engine, in.GuestPath, in.BuildID = b.kind.engine, b.path, b.id
	if err := b.file.Close(); err != nil {
		return nil, fmt.Errorf("close %s: %w", b.path, err)
	}
	p, err := NewPool(ctx, c)
	if err != nil {
		in.Err, in.Layers = err, sandbox.Unsealed("no worker starts")
		return in, nil
	}
	ready := p.warm.ready.take(matchAny).ready
	in.Engine, in.EngineID, in.Layers = EngineOf(ready.EngineID), ready.EngineID, ready.Layers
	return in, p.Close()
}
