package guests

import (
	"context"
	"io"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/internal/runs/replay"
	"github.com/quoinhq/quoin/internal/wire"
)

// Pool has the workers of one build of the guest, as a guestrt.Pool does.
type Pool interface {
	Acquire(ctx context.Context, session string, l wire.Limits) (Worker, error)
	AcquireFresh(ctx context.Context, session string, l wire.Limits) (Worker, error)
	Release(Worker)
	BuildID() [32]byte
	Engine() (e guestrt.Engine, id string)
	Layers() []wire.Layer
	Stats() guestrt.Stats
	WriteGuest(io.Writer) error
	Close() error
}

// Worker has one guest at a time, as a guestrt.Worker does.
type Worker interface {
	replay.Worker
	Start(ctx context.Context, c wire.Cell, files guestrt.FileFunc, deadline time.Time) (*wire.Report, error)
	Turn(ctx context.Context, in []wire.Settlement, deadline time.Time) (*wire.Report, error)
	Snapshot(ctx context.Context, maxBytes int) ([]byte, error)
	Restore(ctx context.Context, image []byte, l wire.Limits, files guestrt.FileFunc) error
	Kill()
	Layers() []wire.Layer
	EngineID() string
}

// processes is a Pool of workers that are processes.
type processes struct{ *guestrt.Pool }

// startProcesses is guestrt.NewPool.
func startProcesses(ctx context.Context, c guestrt.Config) (Pool, error) {
	p, err := guestrt.NewPool(ctx, c)
	if err != nil {
		return nil, err
	}
	return processes{p}, nil
}

func (p processes) Acquire(ctx context.Context, session string, l wire.Limits) (Worker, error) {
	return leased(p.Pool.Acquire(ctx, session, l))
}

func (p processes) AcquireFresh(ctx context.Context, session string, l wire.Limits) (Worker, error) {
	return leased(p.Pool.AcquireFresh(ctx, session, l))
}

func (p processes) Release(w Worker) {
	mine, _ := w.(*guestrt.Worker) // nil if w is
	p.Pool.Release(mine)
}

// leased is a worker that is nil if there is an error.
func leased(w *guestrt.Worker, err error) (Worker, error) {
	if err != nil {
		return nil, err
	}
	return w, nil
}
