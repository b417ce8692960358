package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/internal/debuglog"
	"github.com/quoinhq/quoin/host/trajectory"
)

// eventStream writes server-sent events.
type eventStream struct {
	w     http.ResponseWriter
	debug *debuglog.Stream

	shutdownWrite time.Duration

	mu      sync.Mutex
	timeout time.Duration // of one write
}

// newEventStream sets the headers of a stream.
func (h *handlers) newEventStream(w http.ResponseWriter, debug *debuglog.Stream) *eventStream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	return &eventStream{w: w, timeout: h.options.WriteTimeout, shutdownWrite: h.options.times.shutdownWrite, debug: debug}
}

// event writes an event of a run.
func (s *eventStream) event(e trajectory.Event) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	s.debug.Event(string(e.Kind), b)
	var frame bytes.Buffer
	fmt.Fprintf(&frame, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Kind, b)
	return s.write(frame.Bytes())
}

// keepAlive writes a comment, which clients ignore.
func (s *eventStream) keepAlive() error { return s.write([]byte(": alive\n\n")) }

// write sends bytes to the client at once.
func (s *eventStream) write(b []byte) error {
	if err := s.setDeadline(); err != nil {
		return err
	}
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	return ignoreUnsupported(http.NewResponseController(s.w).Flush())
}

// setDeadline sets the time at which a write fails.
func (s *eventStream) setDeadline() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ignoreUnsupported(http.NewResponseController(s.w).SetWriteDeadline(time.Now().Add(s.timeout)))
}

// shortenDeadline bounds the write under way and later ones for a shutdown.
func (s *eventStream) shortenDeadline() {
	s.mu.Lock()
	s.timeout = min(s.timeout, s.shutdownWrite)
	s.mu.Unlock()
	if s.setDeadline() != nil {
		return // the connection is dead already, as it should be
	}
}

// ignoreUnsupported drops the error of an embedder's writer that lacks a feature.
func ignoreUnsupported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
