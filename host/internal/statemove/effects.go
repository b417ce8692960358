package statemove

import (
	"context"
	"github.com/quoinhq/quoin/host/runstore"
)

// moved is why an effect cannot be undone from the store that it was moved from.
const moved = "its run was moved to another store: undo it there"

// moveEffects carries the journal of effects of a run. What has arrived cannot be undone
// from the source any more; what has not is not in the destination yet.
func (m *Mover) moveEffects(ctx context.Context, id string) error {
	from, ok := m.From.Runs.(runstore.EffectStore)
	to, known := m.To.Runs.(runstore.EffectStore)
	if !ok || !known {
		return nil
	}
	source, err := from.OpenEffects(ctx, id, nil)
	if err != nil {
		return err
	}
	defer source.Close()
	header := source.Effects()
	target, err := to.OpenEffects(ctx, id, header)
	if err != nil {
		return err
	}
	defer target.Close()
	there := map[int]bool{}
	for _, e := range target.Effects().Effects {
		there[e.Number] = e.Reason != moved // one that went from here comes back
	}
	var fresh, left []runstore.Effect
	for _, e := range header.Effects {
		if e.Reason == moved {
			continue
		}
		if !there[e.Number] { // an interrupted move may have brought it, and it may be undone by now
			fresh = append(fresh, e)
		}
		e.State, e.Inverse, e.Input, e.Reason = runstore.EffectFinal, "", nil, moved
		left = append(left, e)
	}
	if len(left) == 0 {
		return runstore.ErrNotFound
	}
	if err := target.Put(true, fresh...); err != nil {
		return err
	}
	return source.Put(true, left...)
}
