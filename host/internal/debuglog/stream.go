package debuglog

import (
	"encoding/json"
	"sync/atomic"

	"github.com/quoinhq/quoin/host/redact"
)

// peeked is how many events of a stream peek shows.
const peeked = 5

// Stream logs the events of one stream of server-sent events. A nil *Stream logs
// nothing.
type Stream struct {
	log  *Log
	name string
	n    atomic.Int64
}

// Stream starts a stream, which the log calls by that name.
func (l *Log) Stream(name string) *Stream {
	if l == nil || l.sse == "" {
		return nil
	}
	return &Stream{log: l, name: clip(name)}
}

// Event logs one event by its name and data, before it is sent.
func (s *Stream) Event(name string, data []byte) {
	if s == nil {
		return
	}
	n := s.n.Add(1)
	args := []any{"stream", s.name, "number", n, "event", clip(name), "bytes", len(data)}
	switch {
	case s.log.sse == sseEvents:
	case n > peeked:
		return
	default:
		args = append(args, "data", peek(data))
	}
	s.log.log.Info("server-sent event", args...)
}

// peek returns data for the log. It is JSON as a rule, but need not be.
func peek(data []byte) string {
	r := redact.Redactor{MaxBytes: maxEvent}
	if json.Valid(data) {
		return string(r.JSON(data, nil))
	}
	return r.Text(string(data))
}
