package runs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// maxPeers bounds the hosts of one store that are looked at.
const maxPeers = 10_000

// errHostGone ends a question to a host after its lease is over.
var errHostGone = errors.New("the lease of the host is over")

// askedHosts are the hosts that this one asks at the moment. A host that was stopped, or
// that is cut off, keeps its connections, and takes seconds to be found out by them. The
// store knows sooner that its runs are free. One look serves all that is asked.
type askedHosts struct {
	every time.Duration // Times.HostLook

	mu     sync.Mutex
	asking []*question
	end    context.CancelFunc // of the looks; nil: nothing is asked
}

// question is what is asked of one host.
type question struct {
	host string
	end  context.CancelCauseFunc
}

// watch returns a context that ends with ctx, and with errHostGone when the lease of the
// host is over, until stop.
func (a *askedHosts) watch(ctx context.Context, store runstore.Shared, host string) (_ context.Context, stop func()) {
	ctx, end := context.WithCancelCause(ctx)
	q := &question{host, end}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asking = append(a.asking, q)
	if a.end == nil {
		var looks context.Context
		looks, a.end = context.WithCancel(context.Background())
		go a.look(looks, store)
	}
	return ctx, func() {
		end(nil)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asking = slices.DeleteFunc(a.asking, func(other *question) bool { return other == q })
		if len(a.asking) == 0 && a.end != nil {
			a.end()
			a.end = nil
		}
	}
}

// look looks until ctx ends. While the store does not say who lives, all questions continue.
func (a *askedHosts) look(ctx context.Context, store runstore.Shared) {
	tick := time.NewTicker(a.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked := a.now()
		live, err := store.Peers(ctx, maxPeers)
		if err != nil || len(live) == maxPeers {
			continue
		}
		for _, q := range asked {
			if !slices.ContainsFunc(live, func(p runstore.Peer) bool { return p.Host == q.host }) {
				q.end(errHostGone)
			}
		}
	}
}

// now are the questions that are asked at the moment.
func (a *askedHosts) now() []*question {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asking)
}
