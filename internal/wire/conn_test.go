package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

// stream is a connection that reads from one buffer and writes to another.
type stream struct {
	io.Reader
	io.Writer
}

func frameOf(t Type, more bool, payload []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)))
	kind := byte(t)
	if more {
		kind |= moreFollows
	}
	return append(append(b, kind), payload...)
}

func receive(peer Side, b []byte) (Message, error) {
	return NewConn(peer, stream{bytes.NewReader(b), io.Discard}).Receive()
}

func TestLargeMessagesTravelInFrames(t *testing.T) {
	for _, size := range []int{0, 1, MaxFrame - 5, MaxFrame - 4, MaxFrame, 3*MaxFrame + 7} {
		want := &Image{Data: bytes.Repeat([]byte{7}, size)}
		if size == 0 {
			want.Data = nil
		}
		var b bytes.Buffer
		if err := NewConn(Host, stream{nil, &b}).Send(want); err != nil {
			t.Fatal(err)
		}
		frames := 0
		for rest := b.Bytes(); len(rest) > 0; frames++ {
			n := binary.LittleEndian.Uint32(rest)
			if n > MaxFrame {
				t.Fatalf("a frame of %d bytes", n)
			}
			rest = rest[headerBytes+n:]
		}
		if wantFrames := max(1, (size+4+MaxFrame-1)/MaxFrame); frames != wantFrames {
			t.Errorf("%d bytes travel in %d frames, want %d", size, frames, wantFrames)
		}
		got, err := receive(Worker, b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if image, ok := got.(*Image); !ok || !bytes.Equal(image.Data, want.Data) {
			t.Errorf("an image of %d bytes changes on its way", size)
		}
	}
}

func TestSmallMessagesAreOneWrite(t *testing.T) {
	writes := writeCounter(0)
	c := NewConn(Host, stream{nil, &writes})
	for range 3 {
		if err := c.Send(&NeedFile{Path: "catalog.json"}); err != nil {
			t.Fatal(err)
		}
	}
	if writes != 3 {
		t.Errorf("%d writes for 3 messages", writes)
	}
}

type writeCounter int

func (w *writeCounter) Write(b []byte) (int, error) {
	*w++
	return len(b), nil
}

func TestEndOfStream(t *testing.T) {
	if _, err := receive(Worker, nil); err != io.EOF {
		t.Errorf("closed between messages: %v", err)
	}
	whole := frameOf(TypeNeedFile, false, []byte("\x01\x00\x00\x00x"))
	for n := 1; n < len(whole); n++ {
		if _, err := receive(Worker, whole[:n]); !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrMalformed) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
}

func TestForgedFramesAreRefused(t *testing.T) {
	ready := []byte("\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	for name, b := range map[string][]byte{
		"unknown type":          frameOf(0x3f, false, nil),
		"a host's type":         frameOf(TypeHello, false, make([]byte, 36)),
		"frame too long":        {0xff, 0xff, 0xff, 0xff, byte(TypeReport)},
		"frame over the cap":    binary.LittleEndian.AppendUint32(nil, MaxFrame+1),
		"small type, big frame": frameOf(TypeReady, false, make([]byte, MaxSmall+1)),
		"bytes after the end":   frameOf(TypeReady, false, append(ready, 0)),
		"cut short":             frameOf(TypeReady, false, ready[:len(ready)-1]),
		"type changes":          append(frameOf(TypeReport, true, ready), frameOf(TypeReady, false, ready)...),
		"empty part":            append(frameOf(TypeReport, true, nil), frameOf(TypeReport, true, nil)...),
		"small type in parts": append(frameOf(TypeReady, true, make([]byte, MaxSmall)),
			frameOf(TypeReady, false, make([]byte, 1))...),
	} {
		if len(b) == 4 {
			b = append(b, byte(TypeReport))
		}
		if m, err := receive(Worker, b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

// endless repeats a frame for ever.
type endless struct {
	frame []byte
	at    int
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.frame[e.at:])
	e.at = (e.at + n) % len(e.frame)
	return n, nil
}

func TestAnEndlessMessageIsCutOff(t *testing.T) {
	c := NewConn(Worker, stream{&endless{frame: frameOf(TypeReport, true, make([]byte, MaxFrame))}, io.Discard})
	if _, err := c.Receive(); !errors.Is(err, ErrMalformed) {
		t.Errorf("got %v", err)
	}
}

func TestAnnouncedSizesCostNothing(t *testing.T) {
	header := binary.LittleEndian.AppendUint32(nil, MaxFrame)
	header = append(header, byte(TypeImage))
	lists := frameOf(TypeReport, false, append([]byte{0, 0, 0, 0, 0, 0}, 0xff, 0x0f, 0, 0))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const rounds = 100
	for range rounds {
		if _, err := receive(Worker, header); err == nil {
			t.Fatal("an image without bytes is accepted")
		}
		if _, err := receive(Worker, lists); !errors.Is(err, ErrMalformed) {
			t.Fatalf("got %v", err)
		}
	}
	runtime.ReadMemStats(&after)
	if perRound := (after.TotalAlloc - before.TotalAlloc) / rounds; perRound > 256<<10 {
		t.Errorf("a forged size costs %d bytes", perRound)
	}
}

func TestSendRefusesWhatIsTooLarge(t *testing.T) {
	var b bytes.Buffer
	c := NewConn(Host, stream{nil, &b})
	var large *TooLargeError
	err := c.Send(&Report{TimerMillis: -1, Output: []Output{{OutputText, []byte(`"` + strings.Repeat("x", MaxReport) + `"`)}}})
	if !errors.As(err, &large) || large.Max != MaxReport || b.Len() != 0 {
		t.Fatalf("got %v, %d bytes written", err, b.Len())
	}
	if err := c.Send(&Restored{}); err != nil || b.Len() != headerBytes {
		t.Errorf("the connection is unusable afterwards: %v", err)
	}
}
