//go:build linux && (amd64 || arm64)

package quickjs

import (
	"fmt"

	"github.com/quoinhq/quoin/internal/wire"
)

// Replay makes the next Load or Turn a replay of the turn that the trace is of.
func (v *vm) Replay(b []byte) error {
	if err := v.usable(); err != nil {
		return fmt.Errorf("quickjs: replay: %w", err)
	}
	t, err := decodeTrace(b)
	if err != nil {
		return fmt.Errorf("quickjs: replay: %w", err)
	}
	v.replayed = &t
	return nil
}

// seed starts the random values of a VM, and again in a replay where the recorded guest
// came into another process.
func (v *vm) seed(seed [32]byte) {
	v.random, v.seeded = newRandom(seed), &seed
	ctl().seed(seedState(seed))
}

// startTrace is called before a turn.
func (v *vm) startTrace() {
	v.drawn = 0
	if t := v.replayed; t != nil {
		if t.seed != nil {
			v.seed(*t.seed)
		}
		v.clock.replay(t.readings)
	} else {
		v.clock.write()
	}
	v.stateBefore = ctl().randomState()
}

// endTrace is called after a turn. It enters the turn's trace, or holds a replay against its trace.
func (v *vm) endTrace(r *wire.Report) {
	t := v.replayed
	v.replayed = nil
	state := ctl().randomState()
	if t != nil {
		v.seeded = nil
		want := t.state
		if want == 0 {
			want = v.stateBefore
		}
		if r.Status != wire.StatusFailed && (state != want || v.drawn != t.drawn) {
			*r = v.failed(&wire.GuestError{Name: "Error", Message: "the program drew other random values than it had", Code: wire.CodeInvalidInput,
				Reason: wire.ReasonReplayDiverged, Phase: wire.PhaseHost})
		}
		return
	}
	v.clock.flush()
	own := trace{seed: v.seeded, drawn: v.drawn, readings: v.clock.readings}
	if state != v.stateBefore {
		own.state = state
	}
	v.seeded = nil
	if r.Trace = own.encode(); len(r.Trace) > wire.MaxTrace {
		r.Trace = nil
	}
}
