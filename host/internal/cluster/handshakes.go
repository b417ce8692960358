package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// maxStrangers bounds the connections that have not proved yet who they are.
const maxStrangers = 256

// handshakes is a listener of connections that have proved who they are. The others are bounded by themselves, and the
// oldest of them goes first: who says nothing keeps no host out.
type handshakes struct {
	net.Listener
	config  *tls.Config
	timeout time.Duration
	ready   chan accepted
	places  chan struct{} // taken by connections that are through
	closed  chan struct{}
	close   func()

	mu        sync.Mutex
	strangers []net.Conn // the oldest first
}

type accepted struct {
	conn net.Conn
	err  error
}

func newHandshakes(l net.Listener, c *tls.Config, timeout time.Duration) *handshakes {
	h := &handshakes{Listener: l, config: c, timeout: timeout, ready: make(chan accepted), places: make(chan struct{}, maxConnections), closed: make(chan struct{})}
	h.close = sync.OnceFunc(func() { close(h.closed) })
	go func() { // ends with the listener
		for {
			conn, err := l.Accept()
			switch {
			case errors.Is(err, net.ErrClosed):
				h.close()
				return
			case err != nil:
				h.pass(accepted{err: err})
			default:
				go h.prove(conn)
			}
		}
	}()
	return h
}

// Accept implements net.Listener.
func (h *handshakes) Accept() (net.Conn, error) {
	select {
	case a := <-h.ready:
		return a.conn, a.err
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handshakes) Close() error {
	h.close()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.strangers {
		_ = c.Close() // no one has it
	}
	return h.Listener.Close()
}

// prove has a connection prove who it is, and passes it on.
func (h *handshakes) prove(raw net.Conn) {
	h.mu.Lock()
	h.strangers = append(h.strangers, raw)
	if len(h.strangers) > maxStrangers {
		_ = h.strangers[0].Close() // its own handshake says so
		h.strangers = h.strangers[1:]
	}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), h.timeout)
	defer cancel()
	place := &placed{Conn: raw, release: func() {}}
	conn := tls.Server(place, h.config)
	err := conn.HandshakeContext(ctx)
	h.mu.Lock()
	h.strangers = slices.DeleteFunc(h.strangers, func(c net.Conn) bool { return c == raw })
	h.mu.Unlock()
	if err == nil {
		select {
		case h.places <- struct{}{}:
			place.release = sync.OnceFunc(func() { <-h.places })
			if h.pass(accepted{conn: conn}) {
				return
			}
		case <-h.closed:
		}
	}
	_ = conn.Close() // the other side learns no more than that
}

func (h *handshakes) pass(a accepted) bool {
	select {
	case h.ready <- a:
		return true
	case <-h.closed:
		return false
	}
}

// placed is a connection that gives its place back when it is closed.
type placed struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (p *placed) Close() error {
	p.release()
	return p.Conn.Close()
}
