package sealedrow

import (
	"crypto/hmac"
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/host/runstore"
)

// Bounds of a journal of effects.
const (
	MaxEffectRows   = 4 * runstore.MaxEffects // beyond it the rows are written again
	MaxEffectHeader = 1 << 20                 // bytes of the header
	MaxEffectLog    = 32 << 20                // bytes of the rows, beyond which they are written again
	MaxEffectsRead  = 2 * MaxEffectLog        // bytes that are read: rows that are written again may be larger
)

// Effect is a row of a journal of effects, or its header. The seal of a row covers the seal of
// the row before.
type Effect struct{ Header, Seal []byte }

// EffectsHeader seals the header of a journal of effects.
func (s Sealer) EffectsHeader(j *runstore.Effects) (Effect, error) {
	header, err := json.Marshal(j)
	if err != nil {
		return Effect{}, err
	}
	if len(header) > MaxEffectHeader {
		return Effect{}, fmt.Errorf("%w: the header of the effects has %d bytes", runstore.ErrTooLarge, len(header))
	}
	return Effect{header, s.sum(sealEffects, []byte(j.RunID), header)}, nil
}

// Effects seals effects that follow the row with the seal last.
func (s Sealer) Effects(last []byte, effects []runstore.Effect) (rows []Effect, size int64, err error) {
	for _, e := range effects {
		header, err := json.Marshal(e)
		if err != nil {
			return nil, 0, err
		}
		last = s.sum(sealEffect, last, header)
		rows = append(rows, Effect{header, last})
		size += int64(len(header))
	}
	return rows, size, nil
}

// DecodeEffects verifies rows before anything in them is looked at.
func (s Sealer) DecodeEffects(runID string, header Effect, rows []Effect) (*runstore.Effects, error) {
	if !hmac.Equal(header.Seal, s.sum(sealEffects, []byte(runID), header.Header)) {
		return nil, Corrupt("the seal of the effects does not verify")
	}
	j := &runstore.Effects{}
	if json.Unmarshal(header.Header, j) != nil || j.RunID != runID {
		return nil, Corrupt("effects of another run")
	}
	last := header.Seal
	for _, row := range rows {
		if !hmac.Equal(row.Seal, s.sum(sealEffect, last, row.Header)) {
			return nil, Corrupt("the seal of an effect does not verify")
		}
		last = row.Seal
		var e runstore.Effect
		if err := json.Unmarshal(row.Header, &e); err != nil {
			return nil, fmt.Errorf("%w: %w", runstore.ErrCorrupt, err)
		}
		j.Apply(e)
	}
	return j, nil
}
