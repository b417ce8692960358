package quickjs

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/quoinhq/quoin/internal/wire"
)

// A trace is what a turn took from its surroundings, besides settlements and files: with
// it the turn comes out the same again, in another build too.
//
//	flags (1) | seed (32) | state (8, LE) | drawn (uvarint) | readings
//
// The seed is there in the first turn of a VM, the state of Math.random if the turn has
// changed it, drawn if crypto gave random bytes. Seeds make the values; state and drawn
// tell whether a replay drew as many. A reading is (uvarint times, varint milliseconds
// since the reading before, which of the first is 0): the clock was read so often while
// it stood there. A replay that reads the clock more often finds it standing still, and one
// that reads it less often continues with the readings of the next turn: a build may read the clock
// elsewhere in the prelude, and a program that sees the difference takes another path.
const (
	traceFormat = 0x10 // in the upper bits of the flags
	traceSeed   = 1 << 0
	traceState  = 1 << 1
	traceDrawn  = 1 << 2
)

// trace is a decoded trace.
type trace struct {
	seed     *[32]byte
	state    uint64 // 0: Math.random was not called
	drawn    uint64
	readings []byte
}

var errTrace = errors.New("a trace of another format")

func decodeTrace(b []byte) (t trace, err error) {
	if len(b) == 0 || b[0]&^(traceSeed|traceState|traceDrawn) != traceFormat {
		return t, errTrace
	}
	flags, b := b[0], b[1:]
	if flags&traceSeed != 0 {
		if len(b) < 32 {
			return t, errTrace
		}
		t.seed, b = (*[32]byte)(b), b[32:]
	}
	if flags&traceState != 0 {
		if len(b) < 8 {
			return t, errTrace
		}
		t.state, b = binary.LittleEndian.Uint64(b), b[8:]
	}
	if flags&traceDrawn != 0 {
		var n int
		if t.drawn, n = binary.Uvarint(b); n <= 0 {
			return t, errTrace
		}
		b = b[n:]
	}
	t.readings = b
	return t, nil
}

func (t *trace) encode() []byte {
	b := []byte{traceFormat}
	if t.seed != nil {
		b[0] |= traceSeed
		b = append(b, t.seed[:]...)
	}
	if t.state != 0 {
		b[0] |= traceState
		b = binary.LittleEndian.AppendUint64(b, t.state)
	}
	if t.drawn != 0 {
		b[0] |= traceDrawn
		b = binary.AppendUvarint(b, t.drawn)
	}
	return append(b, t.readings...)
}

// clock is the time that the guest sees, in milliseconds since 1970. In a turn it writes down
// what was read, or reads what is written.
type clock struct {
	replaying bool
	readings  []byte // of this turn: written so far, or to be read
	at        int64  // the newest reading
	times     uint64 // how often it was read and is not written, or may be read again
	base      int64  // the reading that the next one is written relative to
}

// write starts a turn in which readings are written down.
func (c *clock) write() { *c = clock{} }

// replay starts a turn that reads what is written. The newest reading stays.
func (c *clock) replay(readings []byte) { *c = clock{replaying: true, readings: readings, at: c.at} }

// now reads the clock.
func (c *clock) now() int64 {
	if c.replaying {
		return c.again()
	}
	now := time.Now().UnixMilli()
	if now != c.at {
		c.flush()
		c.at = now
	}
	c.times++
	return now
}

// flush writes the newest reading down, up to one byte more than a trace may have.
func (c *clock) flush() {
	if c.times > 0 && len(c.readings) <= wire.MaxTrace {
		c.readings = binary.AppendUvarint(c.readings, c.times)
		c.readings = binary.AppendVarint(c.readings, c.at-c.base)
		c.base = c.at
	}
	c.times = 0
}

func (c *clock) again() int64 {
	if c.times > 0 {
		c.times--
		return c.at
	}
	times, n := binary.Uvarint(c.readings)
	if n <= 0 {
		return c.standing()
	}
	step, m := binary.Varint(c.readings[n:])
	if m <= 0 {
		return c.standing()
	}
	c.readings = c.readings[n+m:]
	c.base += step
	c.at, c.times = c.base, max(times, 1)-1
	return c.at
}

// standing is the newest reading of a replay, or the time if there was no reading.
func (c *clock) standing() int64 {
	c.readings = nil
	if c.at == 0 {
		return time.Now().UnixMilli()
	}
	return c.at
}
