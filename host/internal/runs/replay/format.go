package replay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/quoinhq/quoin/internal/wire"
)

// The log of a run is a sequence of zstd frames. Together their content is a sequence of
// turns:
//
//	version (1) | path (16) | trace | cell | n × (id, ok, answer) | n × (path, found, data)
//
// Numbers are uvarints, and so are the lengths before texts. The cell is a text of no bytes
// but in the first turn: language, source, memory limit, n × (global, id).
const turnVersion = 1

var errFormat = errors.New("the log of the run has a format that this version does not read")

// maxDecodedLog bounds a log once it is decompressed: all its text was once accounted for.
const maxDecodedLog = 4*maxLog + 1<<20

func encodeTurns(turns []Turn) (b []byte) {
	for i := range turns {
		b = turns[i].encode(b)
	}
	return b
}

func appendText[T string | []byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func (t *Turn) encode(b []byte) []byte {
	b = append(b, turnVersion)
	b = append(b, t.path[:]...)
	b = appendText(b, t.trace)
	b = appendText(b, encodeCell(t.Cell))
	b = binary.AppendUvarint(b, uint64(len(t.in)))
	for _, s := range t.in {
		b = binary.AppendUvarint(b, s.ID)
		b = appendBool(b, s.OK)
		b = appendText(b, s.JSON)
	}
	b = binary.AppendUvarint(b, uint64(len(t.files)))
	for _, f := range t.files {
		b = appendText(b, f.path)
		b = appendBool(b, f.found)
		b = appendText(b, f.data)
	}
	return b
}

func encodeCell(c *wire.Cell) (b []byte) {
	if c == nil {
		return nil
	}
	b = appendText(b, c.Language)
	b = appendText(b, c.Source)
	b = binary.AppendUvarint(b, c.Limits.MemoryBytes)
	b = binary.AppendUvarint(b, uint64(len(c.Namespaces)))
	for _, n := range c.Namespaces {
		b = appendText(b, n.Global)
		b = appendText(b, n.ID)
	}
	return b
}

// Decode reads the log of a record. The first turn has a cell, and no other.
func Decode(compressed []byte) ([]Turn, error) {
	r, err := zstd.NewReader(bytes.NewReader(compressed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDecodedLog))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxDecodedLog+1))
	if err != nil || len(b) > maxDecodedLog {
		return nil, errFormat
	}
	d := logDecoder{b: b}
	var turns []Turn
	for len(d.b) > 0 && !d.failed {
		turns = append(turns, d.turn())
	}
	for i, t := range turns {
		if (t.Cell != nil) != (i == 0) {
			d.failed = true
		}
	}
	if d.failed || len(turns) == 0 {
		return nil, errFormat
	}
	return turns, nil
}

// logDecoder takes fields from a log. After the first failure every field is zero.
type logDecoder struct {
	b      []byte
	failed bool
}

func (d *logDecoder) take(n uint64) []byte {
	if d.failed || n > uint64(len(d.b)) {
		d.failed = true
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

func (d *logDecoder) number() uint64 {
	n, size := binary.Uvarint(d.b)
	if d.failed || size <= 0 {
		d.failed = true
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *logDecoder) text() []byte { return d.take(d.number()) }

func (d *logDecoder) flag() bool {
	v := d.take(1)
	return len(v) == 1 && v[0] == 1
}

// times calls f for each item of a list, which takes at least a byte each.
func (d *logDecoder) times(f func()) {
	for n := d.number(); n > 0 && !d.failed; n-- {
		f()
	}
}

func (d *logDecoder) turn() (t Turn) {
	if v := d.take(1); len(v) == 0 || v[0] != turnVersion {
		d.failed = true
	}
	copy(t.path[:], d.take(uint64(len(t.path))))
	t.trace = d.text()
	if b := d.text(); len(b) > 0 {
		t.Cell = d.cell(b)
	}
	d.times(func() { t.in = append(t.in, wire.Settlement{ID: d.number(), OK: d.flag(), JSON: d.text()}) })
	d.times(func() { t.files = append(t.files, loggedFile{string(d.text()), d.flag(), d.text()}) })
	return t
}

func (d *logDecoder) cell(b []byte) *wire.Cell {
	in := logDecoder{b: b}
	c := &wire.Cell{Language: string(in.text()), Source: string(in.text())}
	c.Limits.MemoryBytes = in.number()
	in.times(func() {
		c.Namespaces = append(c.Namespaces, wire.NamespaceRef{Global: string(in.text()), ID: string(in.text())})
	})
	d.failed = d.failed || in.failed || len(in.b) > 0
	return c
}
