package runstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/text"
)

// Bounds of what a store keeps of the effects of runs. The runs with journals that expire
// first make room.
const (
	MaxEffects       = 1000     // of one run; later ones are counted
	MaxInverseInput  = 64 << 10 // bytes of the input of one inverse
	MaxEffectBytes   = 4 << 20  // of the inputs of one run
	MaxEffectRuns    = 1024     // runs with a journal of effects
	maxEffectText    = 1 << 10  // bytes of a reason or an error
	maxEffectJournal = 16 << 20 // bytes of one file
)

// EffectState is how far an effect of a call has come.
type EffectState string

// The states of an effect. A call is Unknown from before it is made until its tool has
// answered.
const (
	EffectUnknown   EffectState = "unknown"   // the call was made, and what came of it is not known
	EffectNone      EffectState = "none"      // the call has changed nothing
	EffectDone      EffectState = "done"      // the call has changed something, and Inverse undoes it
	EffectFinal     EffectState = "final"     // the call has changed something that cannot be undone; Reason says why
	EffectReverting EffectState = "reverting" // the inverse is being called by the run Undo; with a Reason, what came of it is not known
	EffectReverted  EffectState = "reverted"  // the inverse has been called
	EffectFailed    EffectState = "failed"    // the inverse was called and failed; Reason says why
	EffectSkipped   EffectState = "skipped"   // a person has left it as it is
)

// Effect is what a call of a run has changed, and how that is undone.
type Effect struct {
	// Number is the place of the effect in its run, from 1. Effects are undone from the
	// highest number down.
	Number int         `json:"number"`
	CallID string      `json:"callId"`
	Tool   string      `json:"tool"` // catalog id
	State  EffectState `json:"state"`
	At     time.Time   `json:"at"` // of the last change
	// Inverse is the catalog id of the tool that undoes the effect, Input what it gets.
	Inverse string          `json:"inverse,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Undo    string          `json:"undo,omitempty"` // the newest run that calls the inverse
}

// Effects is the journal of the effects of one run.
type Effects struct {
	RunID   string           `json:"runId"`
	Session codemode.Session `json:"session"`
	Created time.Time        `json:"created"`
	Expires time.Time        `json:"expires"`
	// Omitted counts calls beyond MaxEffects that may have changed something.
	Omitted int `json:"omitted,omitempty"`
	// Effects are in order of their numbers.
	Effects []Effect `json:"-"`

	omitted int // the highest number that Omitted counts; each is written more than once
}

// EffectStore is implemented by stores that keep the effects of runs, also of those
// that have ended, until they expire.
type EffectStore interface {
	// OpenEffects gives the caller the journal of a run until Close, and makes one of
	// header if it does not exist and header is not nil. It answers ErrClaimed, or
	// ErrNotFound and ErrExpired for a journal that is not there.
	OpenEffects(ctx context.Context, runID string, header *Effects) (EffectJournal, error)
	// Effects returns the journal of a run, ErrNotFound or ErrExpired.
	Effects(ctx context.Context, runID string) (*Effects, error)
	// ListEffects returns the journals that have not expired, without their effects,
	// oldest first.
	ListEffects(ctx context.Context) ([]*Effects, error)
}

// EffectJournal is the journal of one run in the hands of its only writer. It is safe
// for concurrent use.
type EffectJournal interface {
	// Effects returns the journal as it is.
	Effects() *Effects
	// Put writes effects; each takes the place of the one with its number. With sync,
	// they are on disk when Put returns.
	Put(sync bool, effects ...Effect) error
	// Close lets others have the journal. It is idempotent.
	Close()
}

// bound cuts what an effect holds to what a journal takes.
func (e *Effect) bound() {
	e.Reason = text.Cut(e.Reason, maxEffectText)
	if len(e.Input) > MaxInverseInput {
		e.fix(fmt.Sprintf("the input of its inverse has %d bytes, more than the %d that are kept", len(e.Input), MaxInverseInput))
	}
}

// fix says that the effect cannot be undone.
func (e *Effect) fix(why string) {
	e.State, e.Inverse, e.Input, e.Reason = EffectFinal, "", nil, why
}

// apply enters effects, those with new numbers too, and returns them as the journal has
// them. Beyond the bounds an effect is kept without its inverse, or counted.
func (j *Effects) apply(effects []Effect) (kept []Effect) {
	for _, e := range effects {
		e.bound()
		i, known := slices.BinarySearchFunc(j.Effects, e.Number, func(e Effect, n int) int { return cmp.Compare(e.Number, n) })
		switch {
		case known:
			if j.inputs()-len(j.Effects[i].Input)+len(e.Input) > MaxEffectBytes {
				e.fix(fmt.Sprintf("the run has more than the %d bytes of inverses that are kept", MaxEffectBytes))
			}
			j.Effects[i] = e
		case len(j.Effects) >= MaxEffects:
			if e.Number > j.omitted {
				j.omitted = e.Number
				j.Omitted++
			}
			continue
		default:
			if j.inputs()+len(e.Input) > MaxEffectBytes {
				e.fix(fmt.Sprintf("the run has more than the %d bytes of inverses that are kept", MaxEffectBytes))
			}
			j.Effects = slices.Insert(j.Effects, i, e)
		}
		kept = append(kept, e)
	}
	return kept
}

// inputs is how many bytes the inverses take.
func (j *Effects) inputs() (n int) {
	for _, e := range j.Effects {
		n += len(e.Input)
	}
	return n
}

// clone copies what a caller could change.
func (j *Effects) clone() *Effects {
	c := *j
	c.Effects = slices.Clone(j.Effects)
	return &c
}

// expired returns ErrExpired once the time of the journal is over.
func (j *Effects) expired(now time.Time) error {
	if now.Before(j.Expires) {
		return nil
	}
	return ErrExpired
}

// byCreation orders journals, the oldest first.
func byCreation(list []*Effects) {
	slices.SortFunc(list, func(a, b *Effects) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.RunID, b.RunID))
	})
}

// Apply enters effects, those with new numbers too, and returns them as the journal has
// them: beyond the bounds an effect is kept without its inverse, or counted in Omitted
// alone. It is for stores, which write what it returns.
func (j *Effects) Apply(effects ...Effect) []Effect { return j.apply(effects) }
