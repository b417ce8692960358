package postgres

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

const (
	// maxField bounds what is written of a run at once, in bytes.
	maxField = 256 << 20
	// maxRun bounds a run with its journal that is read, in bytes: two fields, and the
	// journal. Its seals are at most half as large as what is sealed.
	maxRun = 2*maxField + maxJournal + maxJournal/2
)

// The purposes of seals.
const (
	sealRun     = "run"
	sealEnded   = "ended run"
	sealJournal = "journal"
	sealEffects = "effects"
	sealEffect  = "effect"
)

// runRow is a row of quoin.runs.
type runRow struct {
	ended                           bool
	header, image, imageSum, sealed []byte
}

// journalRow is a row of quoin.journal. Its seal covers the seal of the row before, and the
// seal of the first row covers the seal of the run.
type journalRow struct {
	header, body, sealed []byte
}

// seal makes the seal of fields that are bound to their purpose and their number.
func (c *conn) seal(purpose string, fields ...[]byte) []byte {
	parts := make([][]byte, 0, 2*len(fields))
	for _, f := range fields {
		parts = append(parts, binary.LittleEndian.AppendUint64(nil, uint64(len(f))), f)
	}
	return c.options.Key.Sum(purpose, parts...)
}

// sealRow makes the row of a run.
func (d *runs) sealRow(id string, ended bool, header, image []byte) (*runRow, error) {
	if len(header) > maxField || len(image) > maxField {
		return nil, fmt.Errorf("%w: %d and %d bytes, at most %d each", runstore.ErrTooLarge, len(header), len(image), maxField)
	}
	sum := sha256.Sum256(image)
	row := &runRow{ended: ended, header: header, image: image, imageSum: sum[:]}
	if row.image == nil {
		row.image = []byte{}
	}
	row.sealed = d.seal(row.purpose(), []byte(id), header, row.imageSum)
	return row, nil
}

func (r *runRow) purpose() string {
	if r.ended {
		return sealEnded
	}
	return sealRun
}

// verify verifies a row before anything in it is looked at; of the image only if whole.
func (d *runs) verify(id string, r *runRow, whole bool) error {
	if !hmac.Equal(r.sealed, d.seal(r.purpose(), []byte(id), r.header, r.imageSum)) {
		return corrupt("the seal of the run does not verify")
	}
	if whole {
		if sum := sha256.Sum256(r.image); !hmac.Equal(sum[:], r.imageSum) {
			return corrupt("the seal of the image does not verify")
		}
	}
	return nil
}

func corrupt(why string) error { return fmt.Errorf("%w: %s", runstore.ErrCorrupt, why) }

// recordRow seals a record as a claim writes it.
func (d *runs) recordRow(r *runstore.Record, epoch uint64) (*runRow, error) {
	stamped := *r
	stamped.Epoch = epoch
	header, err := json.Marshal(&stamped)
	if err != nil {
		return nil, err
	}
	return d.sealRow(r.ID, false, header, r.Image)
}

// endedRow seals a result as a claim writes it.
func (d *runs) endedRow(e *runstore.Ended, epoch uint64) (*runRow, error) {
	stamped := *e
	stamped.Epoch = epoch
	header, err := json.Marshal(&stamped)
	if err != nil {
		return nil, err
	}
	if len(e.Result) > runstore.MaxEndedBytes {
		return nil, fmt.Errorf("%w: its result has %d bytes", runstore.ErrTooLarge, len(e.Result))
	}
	return d.sealRow(e.ID, true, header, e.Result)
}

// decodeRecord verifies the rows of a run and makes its record of them.
func (d *runs) decodeRecord(id string, row *runRow, journal []journalRow, whole bool) (*runstore.Record, error) {
	if err := d.verify(id, row, whole); err != nil {
		return nil, err
	}
	var r runstore.Record
	if err := json.Unmarshal(row.header, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", runstore.ErrCorrupt, err)
	}
	if err := r.CheckFormat(); err != nil {
		return nil, err
	}
	if r.ID != id {
		return nil, corrupt("row of another run")
	}
	last := row.sealed
	for _, j := range journal {
		if !hmac.Equal(j.sealed, d.seal(sealJournal, last, j.header, j.body)) {
			return nil, corrupt("the seal of the journal does not verify")
		}
		last = j.sealed
		if err := note(&r, j); err != nil {
			return nil, err
		}
	}
	if whole {
		r.Image = row.image
	}
	return &r, nil
}

// note applies a row of the journal.
func note(r *runstore.Record, row journalRow) error {
	var c runstore.Call
	if err := json.Unmarshal(row.header, &c); err != nil {
		return fmt.Errorf("%w: %w", runstore.ErrCorrupt, err)
	}
	if c.Answer = nil; len(row.body) > 0 {
		c.Answer = row.body
	}
	for i := range r.Calls {
		if r.Calls[i].ID == c.ID {
			r.Calls[i] = progress(c, r.Calls[i])
			if c.KeepUntil.After(r.Expires) {
				r.Expires = c.KeepUntil
			}
			return nil
		}
	}
	return corrupt("an answer to a call that is not in it")
}

// progress is c with what never changes of a call as it is in was.
func progress(c, was runstore.Call) runstore.Call {
	c.Method, c.Target, c.Path, c.Args, c.IdempotencyKey = was.Method, was.Target, was.Path, was.Args, was.IdempotencyKey
	return c
}

// journalRows seals what has become of calls.
func (d *runs) journalRows(last []byte, calls []runstore.Call) (rows []journalRow, size int64, err error) {
	for _, c := range calls {
		body := []byte(c.Answer)
		c.Answer, c.KeepUntil = nil, d.clock.there(c.KeepUntil)
		header, err := json.Marshal(progress(c, runstore.Call{}))
		if err != nil {
			return nil, 0, err
		}
		if body == nil {
			body = []byte{}
		}
		last = d.seal(sealJournal, last, header, body)
		rows = append(rows, journalRow{header, body, last})
		size += int64(len(header) + len(body))
	}
	return rows, size, nil
}

// decodeEnded verifies the row of a result.
func (d *runs) decodeEnded(id string, row *runRow) (*runstore.Ended, error) {
	if err := d.verify(id, row, true); err != nil {
		return nil, err
	}
	var e runstore.Ended
	if json.Unmarshal(row.header, &e) != nil || e.ID != id {
		return nil, corrupt("row of another run")
	}
	e.Result = row.image
	return &e, nil
}

// expired returns an error if a time is over by the database's time.
func expired(expires, now time.Time) error {
	if now.Before(expires) {
		return nil
	}
	return runstore.ErrExpired
}
