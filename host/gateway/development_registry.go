package gateway

import (
	"context"
	"net/http"
	"sync"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/plugins"
)

// developments are the plugins in development, by id. They start one at a time.
type developments struct {
	mu       sync.Mutex
	replaced map[string]chan struct{} // closed when another takes the place
}

// start puts a plugin into service. It ends the development that the plugin replaces and
// closes the replaced channel of that development. Call restore to bring the installed plugin
// back.
func (d *developments) start(ctx context.Context, h *host.Host, found plugins.Candidate) (replaced chan struct{}, restore func(context.Context) error, _ *Problem) {
	d.mu.Lock()
	defer d.mu.Unlock()
	uninstall, err := h.Develop(ctx, found)
	if err != nil {
		return nil, nil, problem(http.StatusConflict, ProblemConflict, "%v", err)
	}
	if before := d.replaced[found.ID()]; before != nil {
		close(before)
	}
	if d.replaced == nil {
		d.replaced = make(map[string]chan struct{})
	}
	replaced = make(chan struct{})
	d.replaced[found.ID()] = replaced
	return replaced, func(ctx context.Context) error {
		err := uninstall(ctx) // outside of mu: it does not hold up the next start
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.replaced[found.ID()] == replaced {
			delete(d.replaced, found.ID())
		}
		return err
	}, nil
}
