package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrMalformed is matched by every error that blames the bytes of the peer.
var ErrMalformed = errors.New("malformed message")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// encoder appends the fields of a message to a buffer.
type encoder struct{ b []byte }

func (e *encoder) u8(v uint8)   { e.b = append(e.b, v) }
func (e *encoder) u32(v uint32) { e.b = binary.LittleEndian.AppendUint32(e.b, v) }
func (e *encoder) u64(v uint64) { e.b = binary.LittleEndian.AppendUint64(e.b, v) }

func (e *encoder) bool(v bool) {
	if v {
		e.u8(1)
		return
	}
	e.u8(0)
}

func (e *encoder) bytes(v []byte) {
	e.u32(uint32(len(v)))
	e.b = append(e.b, v...)
}

func (e *encoder) str(v string) {
	e.u32(uint32(len(v)))
	e.b = append(e.b, v...)
}

// trace ends a message with a trace, unless that is empty.
func (e *encoder) trace(v []byte) {
	if len(v) > 0 {
		e.bytes(v)
	}
}

// decoder takes the fields of a message from its payload. The first failure
// sticks: every later field is then zero, so callers check err once. Byte
// fields alias the payload.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = malformed(format, args...)
	}
}

func (d *decoder) take(n int, what string) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.b) {
		d.fail("%s is cut short", what)
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) u8(what string) uint8 {
	if v := d.take(1, what); v != nil {
		return v[0]
	}
	return 0
}

func (d *decoder) u32(what string) uint32 {
	if v := d.take(4, what); v != nil {
		return binary.LittleEndian.Uint32(v)
	}
	return 0
}

func (d *decoder) u64(what string) uint64 {
	if v := d.take(8, what); v != nil {
		return binary.LittleEndian.Uint64(v)
	}
	return 0
}

func (d *decoder) bool(what string) bool {
	v := d.u8(what)
	if v > 1 {
		d.fail("%s is neither true nor false", what)
	}
	return v == 1
}

// bytes returns nil for an empty field, so that a decoded message equals the
// one that was encoded.
func (d *decoder) bytes(max int, what string) []byte {
	n := d.u32(what)
	if uint64(n) > uint64(max) {
		d.fail("%s has %d bytes, at most %d are allowed", what, n, max)
	}
	if n == 0 {
		return nil
	}
	return d.take(int(n), what)
}

func (d *decoder) str(max int, what string) string {
	b := d.bytes(max, what)
	if !utf8.Valid(b) {
		d.fail("%s is not UTF-8", what)
		return ""
	}
	return string(b)
}

// json takes a field that must hold one JSON document in UTF-8, or nothing if
// optional.
func (d *decoder) json(max int, optional bool, what string) []byte {
	b := d.bytes(max, what)
	if d.err != nil || (optional && b == nil) {
		return nil
	}
	if !json.Valid(b) || !utf8.Valid(b) {
		d.fail("%s is not JSON", what)
		return nil
	}
	return b
}

// compactJSON is json without white space between its tokens, in memory of its
// own: a small item must not keep a large message alive.
func (d *decoder) compactJSON(max int, optional bool, what string) []byte {
	b := d.bytes(max, what)
	if d.err != nil || (optional && b == nil) {
		return nil
	}
	var out bytes.Buffer
	out.Grow(len(b))
	if json.Compact(&out, b) != nil || !utf8.Valid(b) {
		d.fail("%s is not JSON", what)
		return nil
	}
	if out.Len() < len(b) {
		return bytes.Clone(out.Bytes()) // the blanks may have been most of it
	}
	return out.Bytes()
}

// count takes the length of a list with items of at least minBytes each, so
// that a short payload cannot announce a long list.
func (d *decoder) count(max, minBytes int, what string) int {
	n := d.u32(what)
	if uint64(n) > uint64(max) {
		d.fail("%s has %d items, at most %d are allowed", what, n, max)
		return 0
	}
	if uint64(n)*uint64(minBytes) > uint64(len(d.b)) {
		d.fail("%s is cut short", what)
		return 0
	}
	return int(n)
}

// trace takes the trace that a message may end with. Version 3 has no traces.
func (d *decoder) trace() []byte {
	if d.err != nil || len(d.b) == 0 {
		return nil
	}
	b := d.bytes(MaxTrace, "trace")
	if d.err == nil && b == nil {
		d.fail("trace is empty")
	}
	return b
}

func (d *decoder) done() error {
	if d.err == nil && len(d.b) != 0 {
		d.fail("%d bytes after the end", len(d.b))
	}
	return d.err
}
