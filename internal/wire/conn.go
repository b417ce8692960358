package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	headerBytes = 5
	readBuffer  = 16 << 10
)

// Conn sends and receives messages over a byte stream. It is not safe for
// concurrent use: the conversation is half duplex. After an error of Receive,
// or of Send unless it is a TooLargeError, the connection must not be used
// again.
type Conn struct {
	peer Side
	r    *bufio.Reader
	w    io.Writer
	out  []byte // reused between sends while it is small

	limited Type // of a message that Limit bounds
	limit   int
}

// NewConn returns a connection with peer at its other end.
func NewConn(peer Side, rw io.ReadWriter) *Conn {
	return &Conn{peer: peer, r: bufio.NewReaderSize(rw, readBuffer), w: rw}
}

// Send writes one message, a small one in a single write.
func (c *Conn) Send(m Message) error {
	b, err := appendMessage(append(c.out[:0], make([]byte, headerBytes)...), m)
	if err != nil {
		return err
	}
	c.out = nil
	if cap(b) <= MaxSmall {
		c.out = b
	}
	return c.write(m.Type(), b)
}

// write sends b. The first headerBytes of b are room for the first header.
func (c *Conn) write(t Type, b []byte) error {
	for {
		n, kind := len(b)-headerBytes, byte(t)
		if n > MaxFrame {
			n, kind = MaxFrame, kind|moreFollows
		}
		binary.LittleEndian.PutUint32(b, uint32(n))
		b[4] = kind
		if _, err := c.w.Write(b[:headerBytes+n]); err != nil {
			return fmt.Errorf("send %v: %w", t, err)
		}
		if kind&moreFollows == 0 {
			return nil
		}
		// The next header takes the place of bytes that are already sent.
		b = b[n:]
	}
}

// Limit bounds the payload of the messages of one type that are received from now
// on, in bytes, below what the protocol allows. It takes the place of the Limit
// before; 0 lifts it.
func (c *Conn) Limit(t Type, most int) { c.limited, c.limit = t, most }

// most is how large a message may be.
func (c *Conn) most(t Type) int {
	if most := kinds[t].max; t != c.limited || c.limit <= 0 || c.limit > most {
		return most
	}
	return c.limit
}

// Receive reads one message. It returns io.EOF only when the peer closed the
// connection between two messages; bytes that break the protocol give an error
// that matches ErrMalformed. The message's byte fields are its own; the fields
// of a Report share no memory with each other.
func (c *Conn) Receive() (Message, error) {
	t, n, more, err := c.header(true)
	if err != nil {
		return nil, err
	}
	k, ok := kinds[t]
	if !ok || k.from != c.peer {
		return nil, malformed("unexpected %v", t)
	}
	var payload []byte
	for {
		if most := c.most(t); len(payload)+n > most {
			return nil, malformed("%v has more than %d bytes", t, most)
		}
		if payload, err = c.grow(payload, n); err != nil {
			return nil, err
		}
		if !more {
			return Decode(c.peer, t, payload)
		}
		if n == 0 {
			return nil, malformed("%v has an empty part", t)
		}
		var next Type
		if next, n, more, err = c.header(false); err != nil {
			return nil, err
		}
		if next != t {
			return nil, malformed("%v inside a %v", next, t)
		}
	}
}

// header reads one frame header. A clean end of the stream is io.EOF only where
// a message may start.
func (c *Conn) header(first bool) (t Type, n int, more bool, err error) {
	var h [headerBytes]byte
	if _, err := io.ReadFull(c.r, h[:]); err != nil {
		if first && errors.Is(err, io.EOF) {
			return 0, 0, false, io.EOF
		}
		return 0, 0, false, fmt.Errorf("receive header: %w", noEOF(err))
	}
	size := binary.LittleEndian.Uint32(h[:])
	if size > MaxFrame {
		return 0, 0, false, malformed("frame of %d bytes, at most %d are allowed", size, MaxFrame)
	}
	return Type(h[4] &^ moreFollows), int(size), h[4]&moreFollows != 0, nil
}

// grow appends the next n bytes of the stream to b, taking memory only as the
// bytes arrive.
func (c *Conn) grow(b []byte, n int) ([]byte, error) {
	for n > 0 {
		step := min(n, max(readBuffer, len(b)))
		at := len(b)
		b = append(b, make([]byte, step)...)
		if _, err := io.ReadFull(c.r, b[at:]); err != nil {
			return nil, fmt.Errorf("receive payload: %w", noEOF(err))
		}
		n -= step
	}
	return b, nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
