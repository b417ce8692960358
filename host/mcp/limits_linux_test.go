package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// TestMaxConcurrent: of two calls of a server that takes one at a time, the second is held
// back until the first is over, or until it is given up without having been made.
func TestMaxConcurrent(t *testing.T) {
	t.Parallel()
	s := self(t, "good", "good")
	s.MaxConcurrent = 1
	w := connect(t, Options{}, s)
	file := t.TempDir() + "/running"
	ctx, cancel := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Go(func() {
		if e := w.refuse(t, ctx, "good", "wait", fmt.Sprintf(`{"text":%q}`, file)); e.Code != CodeCancelled {
			t.Errorf("%+v", e)
		}
	})
	waitForFile(t, file, "running")
	held, giveUp := context.WithCancel(t.Context())
	giveUp()
	if e := w.refuse(t, held, "good", "echo", `{}`); e.Code != CodeCancelled || e.Unknown {
		t.Errorf("a call that was held back: %+v", e)
	}
	cancel()
	first.Wait()
	waitForFile(t, file, "cancelled") // it is the last thing that is written there
	w.call(t, "good", "echo", `{}`)
}

// TestHeldBackForTooLong: a call does not wait longer than it may take.
func TestHeldBackForTooLong(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Server{
		"maxConcurrent": {Name: "s", MaxConcurrent: 1, CallTimeout: time.Minute},
		"ratePerSecond": {Name: "s", RatePerSecond: 1, CallTimeout: minTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := callOf(peer{name: s.Name, server: s, limits: newLimits(&s)})
				release, err := c.admit(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer release()
				_, err = c.admit(t.Context())
				var e *Error
				if !errors.As(err, &e) || e.Code != CodeBusy || e.Unknown || !strings.Contains(e.Message, name) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// TestRatePerSecond: calls start no faster than the rate.
func TestRatePerSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := Server{Name: "s", RatePerSecond: 5, CallTimeout: time.Hour}
		c := callOf(peer{name: s.Name, server: s, limits: newLimits(&s)})
		start := time.Now()
		for range 25 {
			if _, err := c.admit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 4*time.Second {
			t.Errorf("25 calls at 5 a second, the first 5 at once, took %v", took)
		}
	})
}

// TestMaxResultBytes: a result that is larger than the server's configuration allows is the
// failure of its call.
func TestMaxResultBytes(t *testing.T) {
	t.Parallel()
	s := self(t, "good", "good")
	s.MaxResultBytes = 4096
	w := connect(t, Options{}, s)
	if e := w.refuse(t, t.Context(), "good", "big", `{"n":4096}`); e.Code != CodeReplyTooLarge || !strings.Contains(e.Message, "maxResultBytes allows 4096") {
		t.Errorf("%+v", e)
	}
	w.call(t, "good", "big", `{"n":100}`)
}

// TestTraceContext: a request says which span it belongs to.
func TestTraceContext(t *testing.T) {
	t.Parallel()
	w := inquirer(t, "legacy-inquirer-meta", "")
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	raw, err := w.Call(trace.ContextWithSpanContext(t.Context(), span), Request{Server: "ask", Tool: "t", Input: json.RawMessage(`{}`)})
	if want := `"traceparent":"00-01000000000000000000000000000000-0200000000000000-01"`; err != nil || !strings.Contains(string(raw), want) {
		t.Errorf("%s, %v", raw, err)
	}
	if raw, err := w.Call(t.Context(), Request{Server: "ask", Tool: "t", Input: json.RawMessage(`{}`)}); err != nil || strings.Contains(string(raw), "traceparent") {
		t.Errorf("without a span: %s, %v", raw, err)
	}
}

func init() {
	badServers["legacy-inquirer-meta"] = func(r *raw) error {
		return r.serve(func(q request) error {
			if q.Method == "tools/list" {
				return r.reply(q, oneTool)
			}
			return r.reply(q, `{"content":[],"got":`+string(q.Params)+`}`)
		})
	}
}

func TestLimitsInTheConfiguration(t *testing.T) {
	t.Parallel()
	for field, s := range map[string]Server{
		"maxConcurrent":  {MaxConcurrent: -1},
		"ratePerSecond":  {RatePerSecond: 1001},
		"maxResultBytes": {MaxResultBytes: 9 << 20},
		"pin":            {Pin: "maybe"},
	} {
		s.Name, s.Command = "s", "x"
		var e *ConfigError
		if err := Check([]Server{s}); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
