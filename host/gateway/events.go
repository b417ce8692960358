package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/internal/access"
	"github.com/quoinhq/quoin/host/trajectory"
)

// follow streams what happens in runs as server-sent events, on any host of a cluster: the
// session's events if a session is named, else the events of all sessions. A client that is
// too slow gets an event that tells of the gap. A client that does not read is cut off.
func (h eventHandlers) follow(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	filter := host.EventFilter{All: session == Session{}, Session: session, Run: r.URL.Query().Get("run"), Outputs: r.URL.Query().Get("output") == "true"}
	out := h.newEventStream(w, access.OfHost(h.host).Debug.Stream(r.URL.Path))
	if r.Method == http.MethodHead {
		return nil
	}
	feed := h.host.Follow(ctx, filter)
	if out.write([]byte(": events of quoin, one JSON object each\n\n")) != nil {
		return nil
	}
	// A write that is blocked when the server shuts down must not hold it up.
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		select {
		case <-h.stopping:
			out.shortenDeadline()
		case <-ctx.Done():
		}
	})
	if err := h.copyEvents(ctx, out, feed); err != nil {
		h.options.Logger.Debug("an event stream ended", "error", err)
	}
	return nil
}

// copyEvents writes the events of a feed until the feed or ctx ends, or a write fails.
func (h eventHandlers) copyEvents(ctx context.Context, out *eventStream, feed <-chan trajectory.Event) error {
	tick := time.NewTicker(h.options.times.keepAlive)
	defer tick.Stop()
	for {
		var err error
		select {
		case e, more := <-feed:
			if !more {
				return nil
			}
			err = out.event(e)
		case <-tick.C:
			err = out.keepAlive()
		case <-ctx.Done():
			return nil
		}
		if err != nil {
			return err
		}
	}
}
