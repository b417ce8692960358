package runstore

import (
	"bytes"
	"crypto/hmac"
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// A run file is logMagic and then frames. Each frame is
//
//	kind (1) | header length (u32 LE) | body length (u32 LE) | seal (32) | header | body | seal (32)
//
// A frame of kindRecord is a whole record: header the Record, body its image. One
// of kindJournal says what has become of a call of the record before it: header
// the Call without what never changes, body its answer. The newest record and the
// frames after it count.
//
// Both seals are HMAC-SHA256. The first covers the lengths and the last seal of the
// frame before, the second the first and what follows it: no frame can be altered,
// left out, moved, or taken from another file. A crash leaves a file with a last frame that is
// not complete: it reads as if that frame had never started. The first frame is always
// complete: the file was renamed into its place with it.
const logMagic = "QUOINLEG"

const (
	headBytes  = 1 + 4 + 4 + sealBytes
	frameBytes = headBytes + sealBytes
	// maxLog bounds a run file, in bytes: a record as large as can be, and 256 MiB
	// of what has become of its calls.
	maxLog = 2*maxHeader + 256<<20
)

// frame is one verified frame of a run file.
type frame struct {
	kind         fileKind
	header, body []byte
}

// chain seals frames, each bound to the one before.
type chain struct {
	key  []byte
	last []byte // the last seal of the newest frame
}

// newChain starts a file.
func newChain(key []byte) *chain { return &chain{key: key, last: sum(key, []byte(logMagic))} }

// add appends a frame to b.
func (c *chain) add(b []byte, f frame) ([]byte, error) {
	if len(f.header) > maxHeader || len(f.body) > maxHeader {
		return nil, fmt.Errorf("%w: %d and %d bytes, at most %d each", ErrTooLarge, len(f.header), len(f.body), maxHeader)
	}
	start := len(b)
	b = append(b, byte(f.kind))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.header)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.body)))
	head := c.sealHead(b[start:])
	b = append(b, head...)
	b = append(b, f.header...)
	b = append(b, f.body...)
	c.last = c.sealFrame(head, f.header, f.body)
	return append(b, c.last...), nil
}

// The first byte of what is sealed tells the seals of a key apart.
func (c *chain) sealHead(lengths []byte) []byte { return sum(c.key, []byte{'H'}, c.last, lengths) }

func (c *chain) sealFrame(head, header, body []byte) []byte {
	return sum(c.key, []byte{'F'}, head, header, body)
}

// next verifies the first frame of b. Without an error and without a frame, b is
// the start of one.
func (c *chain) next(b []byte) (f *frame, rest []byte, err error) {
	if len(b) < headBytes || allZero(b[headBytes-sealBytes:]) {
		return nil, b, nil // the file had grown, and what follows was not written
	}
	head := b[headBytes-sealBytes : headBytes]
	if !hmac.Equal(head, c.sealHead(b[:headBytes-sealBytes])) {
		return nil, nil, fmt.Errorf("%w: seal does not verify", ErrCorrupt)
	}
	header, body := uint64(binary.LittleEndian.Uint32(b[1:])), uint64(binary.LittleEndian.Uint32(b[5:]))
	if uint64(len(b)) < frameBytes+header+body {
		return nil, b, nil
	}
	out := &frame{kind: fileKind(b[0]), header: b[headBytes:][:header], body: b[headBytes+header:][:body]}
	end := headBytes + header + body
	if allZero(b[end:]) {
		return nil, b, nil
	}
	last, rest := b[end:end+sealBytes], b[end+sealBytes:]
	if !hmac.Equal(last, c.sealFrame(head, out.header, out.body)) {
		return nil, nil, fmt.Errorf("%w: seal does not verify", ErrCorrupt)
	}
	c.last = last
	return out, rest, nil
}

func allZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

// log is what a run file says.
type log struct {
	record *Record // with its calls as they are by now
	epoch  uint64  // the newest of a claim that wrote to it
	size   int64   // of what verifies
	chain  *chain  // for what comes next
}

// readLog verifies b before it looks at anything inside it.
func readLog(key, b []byte) (*log, error) {
	if bytes.HasPrefix(b, []byte(magic)) {
		return nil, errOlder
	}
	rest, ok := bytes.CutPrefix(b, []byte(logMagic))
	if !ok {
		return nil, fmt.Errorf("%w: not a run file", ErrCorrupt)
	}
	c := newChain(key)
	var newest []frame // the newest record and what comes after it
	for len(rest) > 0 {
		f, left, err := c.next(rest)
		if err != nil {
			return nil, err
		}
		if f == nil {
			break
		}
		if f.kind == kindRecord {
			newest = newest[:0]
		}
		newest = append(newest, *f)
		rest = left
	}
	if len(newest) == 0 || newest[0].kind != kindRecord {
		return nil, fmt.Errorf("%w: it does not start with a record", ErrCorrupt)
	}
	r, err := decodeRecord(newest[0])
	if err != nil {
		return nil, err
	}
	epoch := r.Epoch
	for _, f := range newest[1:] {
		by, err := r.decodeCall(f)
		if err != nil {
			return nil, err
		}
		epoch = max(epoch, by)
	}
	return &log{record: r, epoch: epoch, size: int64(len(b) - len(rest)), chain: c}, nil
}

func recordFrame(r *Record, epoch uint64) (frame, error) {
	written := *r
	written.Epoch = epoch
	header, err := json.Marshal(&written)
	return frame{kindRecord, header, r.Image}, err
}

func decodeRecord(f frame) (*Record, error) {
	var r Record
	if err := json.Unmarshal(f.header, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err := r.CheckFormat(); err != nil {
		return nil, err
	}
	r.Image = f.body
	return &r, nil
}

// progress is the header of a frame of kindJournal.
type progress struct {
	Call
	Epoch uint64 `json:"epoch,omitempty"` // of the claim that wrote the frame
}

// callFrame is what has become of a call.
func callFrame(c Call, epoch uint64) (frame, error) {
	answer := c.Answer
	c.Answer = nil
	header, err := json.Marshal(progress{c.progress(Call{}), epoch})
	return frame{kindJournal, header, answer}, err
}

// decodeCall applies a frame of kindJournal, and returns the epoch of its writer.
func (r *Record) decodeCall(f frame) (epoch uint64, err error) {
	var p progress
	if f.kind != kindJournal {
		return 0, fmt.Errorf("%w: a frame of the kind %q", ErrCorrupt, f.kind)
	}
	if err := json.Unmarshal(f.header, &p); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if p.Answer = nil; len(f.body) > 0 {
		p.Answer = f.body
	}
	if !r.note(p.Call) {
		return 0, fmt.Errorf("%w: an answer to a call that is not in it", ErrCorrupt)
	}
	return p.Epoch, nil
}

// note takes what has become of a call, and reports whether r has it.
func (r *Record) note(now Call) bool {
	for i := range r.Calls {
		if r.Calls[i].ID == now.ID {
			r.Calls[i] = now.progress(r.Calls[i])
			if now.KeepUntil.After(r.Expires) {
				r.Expires = now.KeepUntil
			}
			return true
		}
	}
	return false
}

func noCall(run string, id uint64) error { return fmt.Errorf("run %s waits for no call %d", run, id) }

// progress is c with what never changes of a call as it is in was.
func (c Call) progress(was Call) Call {
	c.Method, c.Target, c.Path, c.Args, c.IdempotencyKey = was.Method, was.Target, was.Path, was.Args, was.IdempotencyKey
	return c
}
