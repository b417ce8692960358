package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/configfile"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/host/trajectory/tracing"
)

// exportTimeout bounds how long a command that has printed its result waits for a
// collector of traces.
const exportTimeout = 5 * time.Second

// recorders take what a host tells of its runs.
type recorders struct {
	trajectories trajectoryStore
	traces       *tracing.Provider
	state        func() error // closes what the host has kept its runs in
}

// trajectoryStore takes the events of a host, and reads what hosts have recorded.
type trajectoryStore interface {
	trajectory.Sink
	gateway.Trajectories
	Find(runID string) (*trajectory.Run, error)
	Close() error
}

// openRecorders opens the trajectories of the state in force, and traces if the environment asks for
// them, and puts both into cfg.
func (o *options) openRecorders(ctx context.Context, f *configfile.File, cfg *host.Config) (*recorders, error) {
	store, err := o.openTrajectories(f)
	if err != nil {
		return nil, err
	}
	traces, err := tracing.FromEnvironment(ctx, tracing.Options{Version: host.Version, Logger: cfg.Logger})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	cfg.Trajectory.Sink, cfg.TracerProvider = store, traces.TracerProvider()
	if o.bodies || f.Trajectory.Bodies {
		cfg.Trajectory.Bodies = &redact.Redactor{}
	}
	return &recorders{store, traces, o.closeState}, nil
}

// openTrajectories opens those of the database that is open, or of the state directory.
func (o *options) openTrajectories(f *configfile.File) (trajectoryStore, error) {
	if o.database != nil {
		return o.database.Trajectory(f.Trajectory.DirOptions), nil
	}
	state, err := o.stateDir(f)
	if err != nil {
		return nil, err
	}
	dir, err := trajectory.OpenDir(trajectoryDir(state), f.Trajectory.DirOptions)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	return dir, nil
}

// close is for when the host has closed.
func (r *recorders) close() error { return errors.Join(r.closeSinks(), r.state()) }

// closeSinks closes what records runs, and leaves open what has them.
func (r *recorders) closeSinks() error {
	ctx, cancel := context.WithTimeout(context.Background(), exportTimeout)
	defer cancel()
	return errors.Join(r.traces.Shutdown(ctx), r.trajectories.Close())
}
