package host

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quoinhq/quoin/host/internal/debuglog"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
)

// Metrics returns the host's Prometheus metrics. They count from New on and can
// be read after Close.
func (h *Host) Metrics() prometheus.Gatherer { return h.obs.Metrics.Gatherer() }

// StoreHealth says how the store of runs does, as this host sees it. Ok is false for a store
// that is not away while its host lives, such as a directory. It waits for a second at most.
func (h *Host) StoreHealth(ctx context.Context) (_ runstore.Health, ok bool) {
	return h.engine.StoreHealth(ctx)
}

// Debug returns the log that the QUOIN_DEBUG_* variables ask for, nil when they
// ask for nothing. A nil log can be used.
func (h *Host) Debug() *debuglog.Log { return h.obs.Debug }

// Subscribe returns the events of all runs from now on, in the order of their Seq if they were
// made one after the other. A reader that is too slow for them misses some and gets an event
// of kind Gap in their place. Its Missed says how many. The channel is closed once ctx has
// ended or the host has closed and the reader has taken what was left; the caller must do one
// of the two.
func (h *Host) Subscribe(ctx context.Context) <-chan trajectory.Event {
	return h.obs.Subscribe(ctx, false)
}

// WithToolCallID tells Exec or Wait the id under which the model called it. Events
// and traces of the run's nested calls name the id of its exec as their parent,
// whatever waits come after, in this process or in another.
func WithToolCallID(ctx context.Context, id string) context.Context {
	return observe.WithToolCallID(ctx, id)
}

// ToolCallID returns the id of WithToolCallID, or "".
func ToolCallID(ctx context.Context) string { return observe.ToolCallID(ctx) }

// WithAskingCaller tells Exec and Wait that their caller puts approvals and questions to
// people itself: they return as soon as the program waits for people and nothing else,
// with the reason approval. Without it they wait for as long again as their time limit.
func WithAskingCaller(ctx context.Context) context.Context { return run.WithAskingCaller(ctx) }
