package runstore

import (
	"context"
	"time"
)

// OpenEffects implements EffectStore.
func (m *Memory) OpenEffects(_ context.Context, runID string, header *Effects) (EffectJournal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writers[runID] {
		return nil, ErrClaimed
	}
	var err error
	j := m.effects[runID]
	switch {
	case j == nil:
		err = ErrNotFound
	default:
		err = j.expired(time.Now())
	}
	if err != nil && header != nil {
		m.makeEffectsRoom()
		j = header.clone()
		j.RunID, j.Effects = runID, nil
		if m.effects == nil {
			m.effects = make(map[string]*Effects)
		}
		m.effects[runID], err = j, nil
	}
	if err != nil {
		return nil, err
	}
	if m.writers == nil {
		m.writers = make(map[string]bool)
	}
	m.writers[runID] = true
	return &memoryEffects{m: m, journal: j, runID: runID}, nil
}

// makeEffectsRoom forgets the journals that were made first until another fits. The
// caller holds mu.
func (m *Memory) makeEffectsRoom() {
	for len(m.effects) >= MaxEffectRuns {
		list := make([]*Effects, 0, len(m.effects))
		for _, j := range m.effects {
			list = append(list, j)
		}
		byCreation(list)
		delete(m.effects, list[0].RunID)
	}
}

// Effects implements EffectStore.
func (m *Memory) Effects(_ context.Context, runID string) (*Effects, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.effects[runID]
	if j == nil {
		return nil, ErrNotFound
	}
	return j.clone(), j.expired(time.Now())
}

// ListEffects implements EffectStore.
func (m *Memory) ListEffects(context.Context) ([]*Effects, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*Effects
	for _, j := range m.effects {
		if j.expired(time.Now()) == nil {
			header := *j
			header.Effects = nil
			out = append(out, &header)
		}
	}
	byCreation(out)
	return out, nil
}

// memoryEffects is a journal in memory, in the hands of its writer.
type memoryEffects struct {
	m       *Memory
	journal *Effects // guarded by the mu of m
	runID   string
	closed  bool // guarded by the mu of m
}

// Effects implements EffectJournal.
func (o *memoryEffects) Effects() *Effects {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	return o.journal.clone()
}

// Put implements EffectJournal.
func (o *memoryEffects) Put(_ bool, effects ...Effect) error {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	if o.closed {
		return ErrClaimed
	}
	o.journal.apply(effects)
	return nil
}

// Close implements EffectJournal.
func (o *memoryEffects) Close() {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	if !o.closed {
		o.closed = true
		delete(o.m.writers, o.runID)
	}
}
