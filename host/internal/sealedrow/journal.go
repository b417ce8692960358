package sealedrow

import (
	"encoding/json"
	"fmt"

	"github.com/klauspost/compress/s2"

	"github.com/quoinhq/quoin/host/runstore"
)

// Journal is a row of a run's journal: what has become of a call. Its seal covers the seal of
// the row before; the seal of the first row covers the seal of the run.
type Journal struct {
	Header []byte // the call, as JSON, without its answer
	Body   []byte // the answer
	Seal   []byte
}

// journalHeader is the header of a row.
type journalHeader struct {
	runstore.Call
	Coding string `json:"coding,omitempty"` // of the body
}

const (
	codingS2 = "s2"
	// minCoded is the size from which a body is compressed, in bytes.
	minCoded = 4 << 10
)

// Calls seals what has become of calls, after the row with the seal last. Size counts the rows
// without their seals, in bytes.
func (s Sealer) Calls(last []byte, calls []runstore.Call) (rows []Journal, size int64, err error) {
	for _, c := range calls {
		h := journalHeader{Call: progress(c, runstore.Call{})}
		body := append([]byte{}, h.Answer...)
		if h.Answer = nil; len(body) >= minCoded {
			if coded := s2.Encode(nil, body); len(coded) < len(body)*7/8 {
				body, h.Coding = coded, codingS2
			}
		}
		header, err := json.Marshal(h)
		if err != nil {
			return nil, 0, err
		}
		last = s.sum(sealJournal, last, header, body)
		rows = append(rows, Journal{header, body, last})
		size += int64(len(header) + len(body))
	}
	return rows, size, nil
}

// progress is c with what never changes of a call as it is in was.
func progress(c, was runstore.Call) runstore.Call {
	c.Method, c.Target, c.Path, c.Args, c.IdempotencyKey = was.Method, was.Target, was.Path, was.Args, was.IdempotencyKey
	return c
}

// apply enters a row that has verified.
func (j *Journal) apply(r *runstore.Record) error {
	var h journalHeader
	if err := json.Unmarshal(j.Header, &h); err != nil {
		return fmt.Errorf("%w: %w", runstore.ErrCorrupt, err)
	}
	body, err := decode(h.Coding, j.Body)
	if err != nil {
		return err
	}
	c := h.Call
	if c.Answer = nil; len(body) > 0 {
		c.Answer = body
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
	return Corrupt("an answer to a call that is not in it")
}

// decode returns the answer in a body.
func decode(coding string, body []byte) ([]byte, error) {
	switch coding {
	case "":
		return body, nil
	case codingS2:
		if n, err := s2.DecodedLen(body); err != nil || n > MaxField {
			return nil, Corrupt("an answer that is not compressed as it says")
		}
		plain, err := s2.Decode(nil, body)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", runstore.ErrCorrupt, err)
		}
		return plain, nil
	}
	return nil, fmt.Errorf("%w: an answer with the coding %.20q", runstore.ErrFormat, coding)
}

// Newest is what the holder of a claim has to know of the record to add to its journal.
type Newest struct {
	Generation uint64
	Calls      map[uint64]bool // the ids of its calls
	Seal       []byte          // of the newest row of the journal, or else of the run
	Rows       int64           // of the journal
	Bytes      int64           // of the journal
}

// NewestOf returns what there is to know of a record, its row and its journal.
func NewestOf(r *runstore.Record, row *Run, journal []Journal) Newest {
	n := Newest{Generation: r.Generation, Calls: make(map[uint64]bool, len(r.Calls)), Seal: row.Seal}
	for _, c := range r.Calls {
		n.Calls[c.ID] = true
	}
	for _, j := range journal {
		n.Add(j.Seal, 1, int64(len(j.Header)+len(j.Body)))
	}
	return n
}

// Add notes rows that follow.
func (n *Newest) Add(seal []byte, rows, bytes int64) {
	n.Seal, n.Rows, n.Bytes = seal, n.Rows+rows, n.Bytes+bytes
}

// Takes reports whether calls are of the record, and rows of that size fit into its journal.
func (n *Newest) Takes(runID string, calls []runstore.Call, size int64) error {
	for _, c := range calls {
		if !n.Calls[c.ID] {
			return fmt.Errorf("run %s waits for no call %d", runID, c.ID)
		}
	}
	if n.Bytes+size > MaxJournal {
		return fmt.Errorf("%w: %d bytes of answers, at most %d fit", runstore.ErrTooLarge, n.Bytes+size, MaxJournal)
	}
	return nil
}
