package runs

import (
	"context"
	"log/slog"
	"sync"

	"github.com/quoinhq/quoin/guestrt"
)

// An image belongs to the build of the guest that it was taken from. New runs use one
// build; those of Config.Guests.Previous finish what they have suspended.

// previousGuest is an older build. Its workers start when one is needed.
type previousGuest struct {
	path  string
	build [32]byte // of the file when the host started

	mu   sync.Mutex
	pool *guestrt.Pool // nil: not started
}

func (g *previousGuest) start(ctx context.Context, isolation guestrt.Isolation, log *slog.Logger) (*guestrt.Pool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pool != nil {
		return g.pool, nil
	}
	pool, err := guestrt.NewPool(context.WithoutCancel(ctx), guestrt.Config{
		GuestPath: g.path, BuildID: g.build, Prepared: 1, Isolation: isolation, Logger: log,
	})
	if err == nil {
		g.pool = pool
	}
	return pool, err
}

// close ends the workers, if there are any.
func (g *previousGuest) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pool == nil {
		return nil
	}
	return g.pool.Close()
}
