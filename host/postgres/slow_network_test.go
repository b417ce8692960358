package postgres

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// SlowNetwork keeps what a host has sent until it is asked for. The host finds its
// connection cut, while the server has heard nothing yet.
type SlowNetwork struct {
	mu     sync.Mutex
	marker []byte // nil: everything passes
	nth    int    // which message with the marker is kept
	kept   []byte
	conn   net.Conn // on which it is delivered
}

// Slow returns o with a network that can be slow.
func Slow(o Options) (Options, *SlowNetwork) {
	n := &SlowNetwork{}
	o.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return &slowConn{Conn: conn, n: n}, err
	}
	return o, n
}

// Keep has the network keep the nth message from now that has the marker in it.
func (n *SlowNetwork) Keep(marker string, nth int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.marker, n.nth = []byte(marker), nth
}

// Deliver gives the server what was kept, and returns when the server has answered.
func (n *SlowNetwork) Deliver() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn == nil {
		return errors.New("the network has kept nothing")
	}
	defer n.conn.Close()
	if err := n.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	if _, err := n.conn.Write(n.kept); err != nil {
		return err
	}
	for {
		header := make([]byte, 5) // the kind of a message, and its length without the kind
		if _, err := io.ReadFull(n.conn, header); err != nil {
			return err
		}
		length := int64(header[1])<<24 | int64(header[2])<<16 | int64(header[3])<<8 | int64(header[4])
		if _, err := io.CopyN(io.Discard, n.conn, length-4); err != nil {
			return err
		}
		if header[0] == 'Z' { // the server waits for the next statement
			return nil
		}
	}
}

// keeps reports whether the network keeps b, which is sent on conn.
func (n *SlowNetwork) keeps(b []byte, conn net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.marker == nil || !bytes.Contains(b, n.marker) {
		return false
	}
	if n.nth--; n.nth > 0 {
		return false
	}
	n.marker, n.kept, n.conn = nil, bytes.Clone(b), conn
	return true
}

// slowConn is a connection of a host, until the network keeps what is sent on it.
type slowConn struct {
	net.Conn
	n    *SlowNetwork
	kept atomic.Bool
}

func (c *slowConn) Write(b []byte) (int, error) {
	if c.kept.Load() {
		return len(b), nil
	}
	if c.n.keeps(b, c.Conn) {
		c.kept.Store(true)
		return len(b), c.Conn.SetReadDeadline(time.Now()) // wakes who reads already
	}
	return c.Conn.Write(b)
}

func (c *slowConn) Read(b []byte) (int, error) {
	if !c.kept.Load() {
		n, err := c.Conn.Read(b)
		if !c.kept.Load() {
			return n, err
		}
	}
	return 0, io.ErrUnexpectedEOF
}

func (c *slowConn) SetDeadline(t time.Time) error {
	if c.kept.Load() {
		return nil
	}
	return c.Conn.SetDeadline(t)
}

func (c *slowConn) Close() error {
	if c.kept.Load() {
		return nil
	}
	return c.Conn.Close()
}
