package gateway_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// logged is what a log has written, which other goroutines may add to.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) lines(with string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		if strings.Contains(line, with) {
			out = append(out, line)
		}
	}
	return out
}

// TestDebugOfStreams: QUOIN_DEBUG_SSE logs what a server streams: every event by name
// and size, or the first five with what is in them.
func TestDebugOfStreams(t *testing.T) {
	hosttest.Serial(t, "sets a variable of the process")
	for _, mode := range []string{"", "events", "peek"} {
		t.Run("mode "+mode, func(t *testing.T) {
			t.Setenv("QUOIN_DEBUG_SSE", mode)
			var log logged
			h := newHost(t, host.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			c := serve(t, h, gateway.Options{}, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			events := c.stream(ctx, t, "")
			const runs = 4
			for range runs {
				c.post("/v1/exec", `{"code":"return 1"}`).wants(200, "status", `"completed"`)
			}
			seen := 0
			for ended := 0; ended < runs; seen++ {
				e, more := events.next()
				if !more {
					t.Fatal("the stream ended")
				}
				if e.Kind == "run_ended" {
					ended++
				}
			}
			lines := log.lines("server-sent event")
			switch {
			case mode == "" && len(lines) > 0:
				t.Errorf("logged without being asked: %q", lines)
			case mode == "events" && (len(lines) != seen || !strings.Contains(lines[0], "stream=/v1/events number=1 event=") || strings.Contains(lines[0], "data=")):
				t.Errorf("%d lines of %d events: %q", len(lines), seen, lines)
			case mode == "peek" && (len(lines) != 5 || !strings.Contains(lines[0], "data=")):
				t.Errorf("%d lines: %q", len(lines), lines)
			}
		})
	}
}
