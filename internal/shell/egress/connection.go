package egress

import (
	"context"
	"net"
	"sync"
	"time"
)

// limitedListener accepts a connection only while there is room for one.
type limitedListener struct {
	net.Listener
	ctx   context.Context
	taken chan struct{} // one element for each connection
}

// Accept waits for room, then for a connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.taken <- struct{}{}:
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.taken
		return nil, err
	}
	return &limitedConn{Conn: conn, leave: sync.OnceFunc(func() { <-l.taken })}, nil
}

// limitedConn makes room when it is closed.
type limitedConn struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// CloseWrite ends one way of the connection.
func (c *limitedConn) CloseWrite() error { return closeWrite(c.Conn) }

// idleConn fails once nothing has passed for idleTimeout.
type idleConn struct{ net.Conn }

// Read reads, and allows the next wait.
func (c *idleConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write writes, and allows the next wait of both ways.
func (c *idleConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// closeWrite tells the other side that nothing more comes.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
