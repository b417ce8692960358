package drive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/replay"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// maxTimerMillis is the longest timer that a guest can set, about 24.8 days.
const maxTimerMillis = 1<<31 - 1

// absorb takes over what a turn has cost, what it has emitted, and when the guest's
// next timer is due.
func (d *driver) absorb(rep *wire.Report) *codemode.Error {
	r := d.run
	r.idleSince = r.env.Clock.Now()
	r.env.Observer.Metrics.GuestRan(run.EngineOf(d.engineID).Name, r.Calls.CountTurn(rep, r.Settings.MemoryLimit))
	d.timerDue = time.Time{}
	if rep.TimerMillis >= 0 {
		d.timerDue = time.Now().Add(time.Duration(min(rep.TimerMillis, maxTimerMillis)) * time.Millisecond)
	}
	if f := replay.CheckReport(rep); f != nil {
		return f
	}
	before := len(d.output.Items)
	if f := d.output.Add(rep.Output); f != nil {
		return f
	}
	r.Observed.Emitted(d.output.Items[before:])
	if d.output.Used != d.chargedOutput {
		if denied := r.Calls.ChargeOutput(d.output.Used); denied != nil {
			return calls.HeldTooMuch(denied)
		}
		d.chargedOutput = d.output.Used
	}
	if d.output.Omitted > 0 && r.Settings.OnOutputLimit == codemode.OutputFail {
		if rep.Status == wire.StatusDone {
			d.output.AddValue(rep.Value)
		}
		return d.output.Over()
	}
	return nil
}

// completed is the result of a run whose program returned.
func (d *driver) completed(value []byte) *codemode.Result {
	res := &codemode.Result{Status: codemode.StatusCompleted}
	fits := d.output.Fits(value)
	if !fits && d.run.Settings.OnOutputLimit == codemode.OutputFail {
		kept := d.run.Keep(value)
		d.output.AddValue(value)
		return d.failed(fault.Add(d.output.Over(), "%s", kept))
	}
	if !fits {
		d.run.Observed.LimitPassed(observe.LimitOutput)
	}
	res.Value, res.Output = d.output.Truncated(value, d.run.Keep)
	res.Value = bytes.Clone(res.Value) // a part of the report would keep the whole report
	d.run.Observed.Value = res.Value
	d.run.env.KeptPrograms.Keep(d.run.Run.Run, true)
	return d.run.finishWith(nil, func() *codemode.Result {
		res.Telemetry = d.telemetry()
		return res
	})
}

// failed ends the run and is its result.
func (d *driver) failed(f *codemode.Error) *codemode.Result {
	if d.unattended && errors.Is(context.Cause(d.run.Context), codemode.ErrClosed) && d.run.leave(f) {
		return d.failure(f)
	}
	if kept := d.outlives(f); kept != nil {
		return d.failure(kept)
	}
	f = d.withLimit(f)
	return d.run.finishWith(f, func() *codemode.Result { return d.failure(f) })
}

// failure is a failed result that leaves the run as it is.
func (d *driver) failure(f *codemode.Error) *codemode.Result {
	c, dispatched := d.run.Calls.CountedAt(d.started, time.Now())
	res := f.Result()
	res.Dispatched, res.Output, res.Telemetry = dispatched, d.emitted(), d.telemetryOf(c)
	res.Unchanged = d.run.Calls.IsUnchanged()
	return res
}

// waiting is the result of a run that is about to be parked. Its telemetry is what the
// store has: the next result goes on from there.
func (d *driver) waiting(c runstore.Counters) *codemode.Result {
	calls, reason := d.run.Calls.Describe(d.run.Settings.MaxOutput)
	var output []codemode.Output
	if !d.isCarried() {
		d.run.Calls.Told()
		output = d.emitted()
	}
	d.run.Observed.Suspended(reason, d.run.usage())
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
func (d *driver) retryAfter(calls []codemode.PendingCall, reason codemode.Reason) time.Duration {
	for _, c := range calls {
		if reason == codemode.ReasonYield || c.Input != nil || c.InputBytes > 0 {
			return 0
		}
	}
	now, times := d.run.env.Clock.Now(), &d.run.env.Times
	after := min(max(now.Sub(d.run.idleSince), times.LeastRetry), times.MostRetry)
	if reason == codemode.ReasonTimer {
		after = times.MostRetry
	}
	if !d.timerDue.IsZero() {
		after = min(after, max(time.Until(d.timerDue), time.Millisecond))
	}
	return after
}

// emitted is the output of a result without a value.
func (d *driver) emitted() []codemode.Output {
	if d.run.Settings.OnOutputLimit == codemode.OutputTruncate {
		return d.output.Within(d.output.Limit)
	}
	return d.output.Items
}

// telemetry counts what the run did so far.
func (d *driver) telemetry() codemode.Telemetry {
	c, _ := d.run.Calls.CountedAt(d.started, time.Now())
	return d.telemetryOf(c)
}

func (d *driver) telemetryOf(c runstore.Counters) codemode.Telemetry {
	t := run.BaseTelemetry(d.run.View())
	if client := d.run.Access.Client; client != nil && client.Turn != nil {
		t.VisibleTools = client.Turn.Visible
	}
	run.CountInto(&t, c)
	t.SnapshotBytes = d.imageSize
	t.Isolation, t.Engine = run.IsolationOf(d.layers), run.EngineOf(d.engineID)
	return t
}

// withLimit adds to a failure by a limit what the limit is and which setting it
// comes from, so that the model can stay within it and the operator change it.
func (d *driver) withLimit(f *codemode.Error) *codemode.Error {
	var text string
	s := &d.run.Settings
	switch {
	case f.Reason != "" || f.Phase != codemode.PhaseGuest:
		return f
	case f.Code == codemode.CodeTimeout && d.cpuLeft() == 0: // it names its limit
		return f
	case f.Code == codemode.CodeTimeout && d.compute < s.Timeout:
		text = fmt.Sprintf(" This program was given %s to compute in one go; the setting tools.codeMode.timeoutMs allows %s.", d.compute, s.Timeout)
	case f.Code == codemode.CodeTimeout:
		text = fmt.Sprintf(" A program may compute for %s in one go (tools.codeMode.timeoutMs).", s.Timeout)
	case f.Code == codemode.CodeMemoryLimit:
		text = fmt.Sprintf(" A program may use %s of memory (tools.codeMode.memoryLimitBytes).", byteSize(s.MemoryLimit))
	default:
		return f
	}
	with := *f
	if n := len(with.Message); n > 0 && with.Message[n-1] != '.' {
		with.Message += "."
	}
	with.Message += text
	return &with
}

// byteSize writes a number of bytes in the largest unit that it is whole in.
func byteSize(n int64) string {
	switch {
	case n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + " MiB"
	case n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + " KiB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// WithRun marks a refusal with what is known of a run of this process.
func WithRun(f *codemode.Error, r *Run) *codemode.Error {
	c, dispatched := r.Calls.CountedAt(r.driver.started, time.Now())
	t := r.driver.telemetryOf(c)
	f.Dispatched, f.Telemetry = dispatched, &t
	return f
}

// usage returns what the current exec or wait of the run has used.
func (r *Run) usage() observe.Usage {
	c, _ := r.Calls.CountedAt(r.driver.started, time.Now())
	return observe.Usage{Start: r.driver.started, CPUMicros: c.CPUMicros, OutputBytes: r.driver.output.Used, ImageBytes: r.driver.imageSize, Engine: run.EngineOf(r.driver.engineID)}
}
