package statemove

import (
	"context"
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/host/runstore"
)

// Why an effect cannot be undone from a store. What follows names the other one.
const (
	moved  = "its run was moved to another store: undo it there"
	coming = "it is on its way from another store: repeat that move; "
)

// errComing says that a journal has not arrived where it is to continue.
const errComing = leave("its effects are on their way from another store: repeat that move first")

// moveEffects carries the journal of effects of a run. What is on its way can be undone
// from the source until it cannot be any more, and from the destination only then.
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
	fresh, left, err := m.sortEffects(header.Effects, target.Effects().Effects)
	switch {
	case err != nil:
		return err
	case len(fresh)+len(left) == 0:
		return runstore.ErrNotFound
	}
	staged := make([]runstore.Effect, len(fresh))
	for i, e := range fresh {
		staged[i] = stageEffect(e, m.From.Runs.Identity())
	}
	if err := target.Put(true, staged...); err != nil {
		return err
	}
	if err := source.Put(true, left...); err != nil {
		return err
	}
	return target.Put(true, fresh...)
}

// sortEffects returns the effects that the destination is to have, and the effects that the
// source is to have then.
func (m *Mover) sortEffects(source, target []runstore.Effect) (fresh, left []runstore.Effect, err error) {
	there := make(map[int]runstore.Effect, len(target))
	for _, e := range target {
		there[e.Number] = e
	}
	goes := moved + "; " + m.To.Runs.Identity()
	for _, e := range source {
		known, ok := there[e.Number]
		arriving, from := unstageEffect(known)
		switch _, unarrived := unstageEffect(e); {
		case unarrived != "":
			return nil, nil, errComing
		case e.Reason == goes && from == m.From.Runs.Identity(): // a move was interrupted
			fresh = append(fresh, arriving)
			continue
		case strings.HasPrefix(e.Reason, moved):
			continue
		case !ok || from != "" || strings.HasPrefix(known.Reason, moved): // one that went from there comes back
			fresh = append(fresh, e)
		}
		e.State, e.Inverse, e.Input, e.Reason = runstore.EffectFinal, "", nil, goes
		left = append(left, e)
	}
	return fresh, left, nil
}

// stageEffect is an effect that has arrived from a store and cannot be undone yet. It keeps
// its inverse, which no other final effect has.
func stageEffect(e runstore.Effect, from string) runstore.Effect {
	if e.Inverse != "" {
		e.State, e.Reason = runstore.EffectFinal, fmt.Sprintf("%s%s %s %s", coming, from, e.State, e.Reason)
	}
	return e
}

// unstageEffect is an effect as it was before, and the store that it comes from, "" if it
// was not staged.
func unstageEffect(e runstore.Effect) (_ runstore.Effect, from string) {
	rest, ok := strings.CutPrefix(e.Reason, coming)
	if !ok || e.State != runstore.EffectFinal || e.Inverse == "" {
		return e, ""
	}
	from, rest, _ = strings.Cut(rest, " ")
	state, reason, _ := strings.Cut(rest, " ")
	e.State, e.Reason = runstore.EffectState(state), reason
	return e, from
}
