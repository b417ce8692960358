package sealedrow

import (
	"crypto/hmac"
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/host/runstore"
)

// Record seals a record as a claim writes it.
func (s Sealer) Record(r *runstore.Record, epoch uint64) (*Run, error) {
	stamped := *r
	stamped.Epoch = epoch
	header, err := json.Marshal(&stamped)
	if err != nil {
		return nil, err
	}
	return s.run(r.ID, false, header, r.Image)
}

// Ended seals a result as a claim writes it.
func (s Sealer) Ended(e *runstore.Ended, epoch uint64) (*Run, error) {
	stamped := *e
	stamped.Epoch = epoch
	header, err := json.Marshal(&stamped)
	if err != nil {
		return nil, err
	}
	if len(e.Result) > runstore.MaxEndedBytes {
		return nil, fmt.Errorf("%w: its result has %d bytes", runstore.ErrTooLarge, len(e.Result))
	}
	return s.run(e.ID, true, header, e.Result)
}

// DecodeRecord verifies the rows of a run and makes its record of them, with its image if
// whole.
func (s Sealer) DecodeRecord(id string, row *Run, journal []Journal, whole bool) (*runstore.Record, error) {
	if err := s.verify(id, row, whole); err != nil {
		return nil, err
	}
	var r runstore.Record
	if err := json.Unmarshal(row.Header, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", runstore.ErrCorrupt, err)
	}
	if err := r.CheckFormat(); err != nil {
		return nil, err
	}
	if r.ID != id {
		return nil, Corrupt("row of another run")
	}
	last := row.Seal
	for _, j := range journal {
		if !hmac.Equal(j.Seal, s.sum(sealJournal, last, j.Header, j.Body)) {
			return nil, Corrupt("the seal of the journal does not verify")
		}
		last = j.Seal
		if err := j.apply(&r); err != nil {
			return nil, err
		}
	}
	if whole {
		r.Image = row.Image
	}
	return &r, nil
}

// DecodeEnded verifies the row of a result.
func (s Sealer) DecodeEnded(id string, row *Run) (*runstore.Ended, error) {
	if err := s.verify(id, row, true); err != nil {
		return nil, err
	}
	var e runstore.Ended
	if json.Unmarshal(row.Header, &e) != nil || e.ID != id {
		return nil, Corrupt("row of another run")
	}
	e.Result = row.Image
	return &e, nil
}
