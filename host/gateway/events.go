package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/internal/debuglog"
	"github.com/quoinhq/quoin/host/trajectory"
)

const (
	// keepAlive is how often a stream without events says that it is alive.
	keepAlive = 15 * time.Second
	// lastWords is how long a client may take for what is left of a stream once
	// the server shuts down.
	lastWords = 2 * time.Second
)

// events streams what happens in runs as server-sent events, those of the session
// alone if one is named. A client that is too slow is told of its gaps; one that
// does not read is cut off.
func (s *Server) events(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	feed := s.host.Subscribe(ctx)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	out := &stream{w: w, timeout: s.WriteTimeout, debug: s.host.Debug().Stream(r.URL.Path)}
	if r.Method == http.MethodHead || out.write([]byte(": events of quoin, one JSON object each\n\n")) != nil {
		return nil
	}
	// A write that is blocked when the server shuts down must not hold it up.
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		select {
		case <-s.stopping:
			out.hurry()
		case <-ctx.Done():
		}
	})
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	only := filter{named(session) || session.AgentID != "", recorded(session), r.URL.Query().Get("run")}
	for {
		var err error
		select {
		case e, more := <-feed:
			if !more {
				return nil
			}
			if only.passes(e) {
				err = out.event(e)
			}
		case <-tick.C:
			err = out.write([]byte(": alive\n\n"))
		case <-ctx.Done():
			return nil
		}
		if err != nil {
			s.Logger.Debug("an event stream ended", "error", err)
			return nil
		}
	}
}

// filter says which events a stream has.
type filter struct {
	scoped  bool
	session trajectory.Session
	run     string
}

func (f filter) passes(e trajectory.Event) bool {
	if e.Kind == trajectory.Gap && e.RunID == "" {
		return true // of the stream itself
	}
	of, s := e.Session, f.session
	of.TurnID, s.TurnID = "", "" // the turn does not count
	return (!f.scoped || of == s) && (f.run == "" || e.RunID == f.run)
}

// stream writes server-sent events.
type stream struct {
	w     http.ResponseWriter
	debug *debuglog.Stream

	mu      sync.Mutex
	timeout time.Duration
}

func (o *stream) event(e trajectory.Event) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	o.debug.Event(string(e.Kind), b)
	var frame bytes.Buffer
	fmt.Fprintf(&frame, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Kind, b)
	return o.write(frame.Bytes())
}

func (o *stream) write(b []byte) error {
	if err := o.limit(); err != nil {
		return err
	}
	if _, err := o.w.Write(b); err != nil {
		return err
	}
	return allowed(http.NewResponseController(o.w).Flush())
}

// limit sets the time by which a write must be done.
func (o *stream) limit() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return allowed(http.NewResponseController(o.w).SetWriteDeadline(time.Now().Add(o.timeout)))
}

// hurry shortens the time of this write and of those to come.
func (o *stream) hurry() {
	o.mu.Lock()
	o.timeout = min(o.timeout, lastWords)
	o.mu.Unlock()
	if o.limit() != nil {
		return // the connection is dead already, as it should be
	}
}

// allowed forgives a writer of the embedder's that cannot do something.
func allowed(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
