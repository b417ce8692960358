package host

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/run"
)

// Metrics returns the host's Prometheus metrics. They count from New on and can
// be read after Close.
func (h *Host) Metrics() prometheus.Gatherer { return h.obs.Metrics.Gatherer() }

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
