package app

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/host/trajectory/tracing"
)

// exportTimeout bounds how long a command that has printed its result waits for a
// collector of traces.
const exportTimeout = 5 * time.Second

// Recorders take what a host tells of its runs.
type Recorders struct {
	Trajectories TrajectoryStore
	traces       *tracing.Provider
	state        func() error // closes what the host has kept its runs in
}

// TrajectoryStore takes the events of a host, and reads what hosts have recorded.
type TrajectoryStore interface {
	trajectory.Sink
	gateway.Trajectories
	Find(runID string) (*trajectory.Run, error)
	Close() error
}

// OpenRecorders opens the trajectories of the state in force, and traces if the environment asks for
// them, and puts both into cfg.
func (o *Flags) OpenRecorders(ctx context.Context, f *configfile.File, cfg *host.Config) (*Recorders, error) {
	store, err := o.OpenTrajectories(f)
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
	return &Recorders{store, traces, o.CloseState}, nil
}

// OpenTrajectories opens the trajectories next to the database that is open.
func (o *Flags) OpenTrajectories(f *configfile.File) (TrajectoryStore, error) {
	if d, ok := o.Database.(*postgres.DB); ok {
		return d.Trajectory(f.Trajectory.DirOptions), nil
	}
	t, err := o.Database.(*sqlite.DB).Trajectory(f.Trajectory.DirOptions)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Close is for when the host has closed.
func (r *Recorders) Close() error { return errors.Join(r.CloseSinks(), r.state()) }

// CloseSinks closes what records runs, and leaves open what has them.
func (r *Recorders) CloseSinks() error {
	ctx, cancel := context.WithTimeout(context.Background(), exportTimeout)
	defer cancel()
	return errors.Join(r.traces.Shutdown(ctx), r.Trajectories.Close())
}
