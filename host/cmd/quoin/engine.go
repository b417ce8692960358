package main

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/configfile"
	"github.com/quoinhq/quoin/internal/sandbox"
)

// bindEngine adds the flag that chooses the engine of programs.
func (o *options) bindEngine(cmd *cobra.Command) {
	cli.BindChoice(cmd, &o.engine, "engine", "engine that runs programs (default: guest.engine)",
		string(host.EngineDefault), string(host.EngineNative), string(host.EngineAuto))
}

// guestConfig is what the configuration says of guest workers.
func guestConfig(f *configfile.File) guestrt.Config {
	return guestrt.Config{Engine: f.GuestEngine, GuestPath: f.GuestPath, NativePath: f.NativePath}
}

// foundEngine is one of the two engines, with the worker that a host would use for it.
type foundEngine struct {
	Engine  host.EngineChoice `json:"engine"`
	ID      string            `json:"id,omitempty"` // as the worker says it
	Path    string            `json:"path,omitempty"`
	BuildID string            `json:"buildId,omitempty"` // SHA-256 of the executable
	Tier    string            `json:"tier,omitempty"`    // of the worker's isolation
	// Missing says that no setting names a worker and its place is empty, Error why it
	// does not start, or what there is to do.
	Missing bool   `json:"missing,omitempty"`
	Error   string `json:"error,omitempty"`
}

// findEngine starts a worker of one engine and looks at it.
func findEngine(ctx context.Context, c guestrt.Config, e host.EngineChoice) (foundEngine, error) {
	c.Engine = e
	found := foundEngine{Engine: e}
	path, build, err := guestrt.FindWorker(c)
	if err != nil {
		found.Missing, found.Error = errors.Is(err, guestrt.ErrNoWorker), err.Error()
		return found, nil
	}
	found.Path, found.BuildID = path, hex.EncodeToString(build[:])
	in, err := guestrt.Inspect(ctx, c)
	if err != nil {
		return found, err
	}
	if in.Err != nil {
		found.Error = in.Err.Error()
		return found, nil
	}
	found.ID, found.Tier = in.EngineID, sandbox.Tier(in.Layers)
	return found, nil
}

// text is what a person reads of the engine, for one line.
func (e *foundEngine) text() string {
	switch {
	case e.Missing:
		return "not here: " + e.Error
	case e.Error != "":
		return "does not start: " + e.Error
	}
	return e.ID + ", tier " + e.Tier + ", " + e.Path
}
