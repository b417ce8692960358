package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// seeds are the frames of the transcripts.
func seeds(f *testing.F) {
	for _, c := range conversations {
		for _, line := range c.lines {
			f.Add(lineBytes(f, line))
		}
	}
}

// FuzzFrame feeds a host with what a hostile worker could write: it must end
// with an error or a message, and every message it accepts must be encodable
// to the same payload.
func FuzzFrame(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, peer := range []Side{Host, Worker} {
			c := NewConn(peer, stream{bytes.NewReader(b), io.Discard})
			for {
				m, err := c.Receive()
				if err == io.EOF {
					break
				}
				if err != nil {
					if !errors.Is(err, ErrMalformed) && !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Fatalf("an error of no kind: %v", err)
					}
					break
				}
				again(t, peer, m)
			}
		}
	})
}

// FuzzReport feeds the decoder of reports, which carry all guest data.
func FuzzReport(f *testing.F) { fuzzPayload(f, Worker, TypeReport) }

// FuzzReady feeds the decoder of the first message a host reads.
func FuzzReady(f *testing.F) { fuzzPayload(f, Worker, TypeReady) }

// FuzzStart feeds the decoder of cells.
func FuzzStart(f *testing.F) { fuzzPayload(f, Host, TypeStart) }

func fuzzPayload(f *testing.F, from Side, kind Type) {
	for _, c := range conversations {
		for _, line := range c.lines {
			if line.m.Type() == kind {
				b, err := Encode(line.m)
				if err != nil {
					f.Fatal(err)
				}
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(from, kind, b)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		// The decoder takes white space out of JSON, and nothing else.
		out := again(t, from, m)
		if len(out) >= len(b) && !bytes.Equal(out, b) {
			t.Fatalf("two encodings of one message:\n%x\n%x", b, out)
		}
	})
}

// again encodes and decodes an accepted message and returns its encoding.
func again(t *testing.T, from Side, m Message) []byte {
	out, err := Encode(m)
	if err != nil {
		t.Fatalf("an accepted %v cannot be encoded: %v", m.Type(), err)
	}
	second, err := Decode(from, m.Type(), out)
	if err != nil {
		t.Fatalf("an accepted %v is refused the second time: %v", m.Type(), err)
	}
	if b, err := Encode(second); err != nil || !bytes.Equal(b, out) {
		t.Fatalf("an accepted %v changes again: %v", m.Type(), err)
	}
	return out
}
