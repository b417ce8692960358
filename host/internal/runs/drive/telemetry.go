package drive

import (
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// failure is a failed result that leaves the run as it is.
func (d *driver) failure(f *codemode.Error) *codemode.Result {
	c, dispatched := d.run.Calls.Costs.CountedAt(d.started, time.Now())
	res := f.Result()
	res.Dispatched, res.Output, res.Telemetry = dispatched, d.emitted(), d.telemetryOf(c)
	res.Unchanged = d.run.Calls.Costs.IsUnchanged()
	return res
}

// emitted is the output of a result without a value.
func (d *driver) emitted() []codemode.Output {
	if d.run.Settings.OnOutputLimit == codemode.OutputTruncate {
		return d.output.Within(d.output.Limit)
	}
	return d.output.Items
}

// telemetryOf describes what the run did so far.
func (g *guest) telemetryOf(c runstore.Counters) codemode.Telemetry {
	t := run.BaseTelemetry(g.run.View())
	if client := g.run.Access.Client; client != nil && client.Turn != nil {
		t.VisibleTools = client.Turn.Visible
	}
	run.CountInto(&t, c)
	t.SnapshotBytes = g.imageSize
	t.Isolation, t.Engine = run.IsolationOf(g.layers), run.EngineOf(g.engineID)
	return t
}

// WithRun marks a refusal with what is known of a run of this process.
func WithRun(f *codemode.Error, r *Run) *codemode.Error {
	c, dispatched := r.Calls.Costs.CountedAt(r.driver.started, time.Now())
	t := r.driver.telemetryOf(c)
	f.Dispatched, f.Telemetry = dispatched, &t
	return f
}

// usage returns what the current exec or wait of the run has used.
func (d *driver) usage() observe.Usage {
	c, _ := d.run.Calls.Costs.CountedAt(d.started, time.Now())
	return observe.Usage{Start: d.started, CPUMicros: c.CPUMicros, OutputBytes: d.output.Used, ImageBytes: d.imageSize, Engine: run.EngineOf(d.engineID)}
}

// waiting returns the result of a run that is about to be parked. Its telemetry is what the
// store has: the next result continues from there.
func (d *driver) waiting(c runstore.Counters) *codemode.Result {
	calls, reason := d.run.Calls.Describe(d.run.Settings.MaxOutput)
	var output []codemode.Output
	if d.carried == nil {
		d.run.Calls.Questions.Told()
		output = d.emitted()
	}
	d.run.Observed.Suspended(reason, d.usage())
	return &codemode.Result{
		Status:           codemode.StatusWaiting,
		RunID:            d.run.ID,
		Reason:           reason,
		PendingToolCalls: calls,
		RetryAfter:       d.retryAfter(calls, reason),
		Output:           output,
		Telemetry:        d.telemetryOf(c),
	}
}

// retryAfter is when it is worth coming back: at once for a caller that is to act itself, when
// the guest's timer is due, or else after as long again as the guest has waited.
func (g *guest) retryAfter(calls []codemode.PendingCall, reason codemode.Reason) time.Duration {
	for _, c := range calls {
		if reason == codemode.ReasonYield || c.Input != nil || c.InputBytes > 0 {
			return 0
		}
	}
	now, times := g.run.env.Clock.Now(), &g.run.env.Times
	after := min(max(now.Sub(g.run.idleSince), times.LeastRetry), times.MostRetry)
	if reason == codemode.ReasonTimer {
		after = times.MostRetry
	}
	if !g.timerDue.IsZero() {
		after = min(after, max(time.Until(g.timerDue), time.Millisecond))
	}
	return after
}
