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
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/replay"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/internal/wire"
)

// maxTimerMillis is the longest timer that a guest can set, about 24.8 days.
const maxTimerMillis = 1<<31 - 1

// absorb takes over what a turn has cost, what it has emitted, and when the guest's
// next timer is due.
func (d *driver) absorb(rep *wire.Report) *codemode.Error {
	r := d.run
	r.idleSince = r.env.Clock.Now()
	r.env.Observer.Metrics.GuestRan(run.EngineOf(d.engineID).Name, r.Calls.Costs.CountTurn(rep, r.Settings.MemoryLimit))
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
		if denied := r.Calls.Costs.ChargeOutput(d.output.Used); denied != nil {
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

// completed returns the result of a run after its program has returned.
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
		c, _ := d.run.Calls.Costs.CountedAt(d.started, time.Now())
		res.Telemetry = d.telemetryOf(c)
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

// withLimit adds to a failure by a limit what the limit is and which setting it
// comes from, so that the model can stay within it and the operator change it.
func (c *caller) withLimit(f *codemode.Error) *codemode.Error {
	var text string
	s := &c.run.Settings
	switch {
	case f.Reason != "" || f.Phase != codemode.PhaseGuest:
		return f
	case f.Code == codemode.CodeTimeout && c.cpuLeft() == 0: // it names its limit
		return f
	case f.Code == codemode.CodeTimeout && c.compute < s.Timeout:
		text = fmt.Sprintf(" This program was given %s to compute in one go; the setting tools.codeMode.timeoutMs allows %s.", c.compute, s.Timeout)
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

// outlives releases a run after its worker has ended under it, if the store has an account
// of it: a later Wait resumes from there. It returns nil if the run ends.
func (d *driver) outlives(f *codemode.Error) *codemode.Error {
	if f.Code != codemode.CodeUnavailable || f.Reason != codemode.ReasonWorkerCrashed || !d.run.env.lostWorkers.first(d.run.ID) || !d.run.leave(f) {
		return nil
	}
	return codemode.Errorf(codemode.CodeUnavailable, codemode.ReasonRunBusy, codemode.PhaseHost, "%s. The run is kept as it was stored last: wait for it again. Calls that were in flight may have taken effect.", f.Message)
}

// failureFrom says why a step of the guest failed: because the run was ended, because
// there was no worker, or as the worker says.
func (c *caller) failureFrom(err error) *codemode.Error {
	var own *codemode.Error
	switch {
	case c.run.Context.Err() != nil:
		return c.run.Aborted()
	case c.ctx.Err() != nil:
		f := codemode.Errorf(codemode.CodeAborted, "", codemode.PhaseHost, "code mode run was aborted: %v", context.Cause(c.ctx))
		f.Err = context.Cause(c.ctx) // for the tools of calls that end with it
		return f
	case errors.As(err, &own):
		return own
	case errors.Is(err, errStuck):
		return codemode.Errorf(codemode.CodeTimeout, codemode.ReasonWorkerCrashed, codemode.PhaseHost, "%v", err)
	case errors.Is(err, fault.ErrClosing):
		return fault.Closing()
	case errors.Is(err, ErrBusy):
		return codemode.Errorf(codemode.CodeUnavailable, "", codemode.PhaseHost, "every guest worker is busy%s. Try again later.", because(c.refused))
	default:
		return fault.FromWorker(err)
	}
}

// because adds a quota to a message.
func because(d *quota.Denied) string {
	if d == nil {
		return ""
	}
	return ": " + d.Error()
}

// errStuck means that a worker did not answer although no guest ran in it.
var errStuck = errors.New("the guest worker does not answer")

// errUnrestored means that no worker could take the guest, for reasons that are not
// the guest's. The run is as it was.
var errUnrestored = errors.New("no guest worker could take the suspended program")
