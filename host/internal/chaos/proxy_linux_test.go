package chaos_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy passes connections on, unless it is told not to.
type proxy struct {
	listener net.Listener
	mu       sync.Mutex
	target   string
	conns    map[*net.TCPConn]bool
	held     [2]bool       // what is sent to the target, and what comes from it
	changed  chan struct{} // closed when held changes
	ended    bool
}

// directions of what a proxy passes on.
const (
	toTarget   = 0
	fromTarget = 1
)

// newProxy listens at an address of this machine, on any port.
func newProxy(t *testing.T, at, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(at, "0"))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target, conns: map[*net.TCPConn]bool{}, changed: make(chan struct{})}
	var busy sync.WaitGroup
	busy.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			busy.Go(func() { p.pass(conn.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
		p.hold(false, false)
		p.reset()
		busy.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// lead sends new connections elsewhere, and resets those there are.
func (p *proxy) lead(target string) {
	p.mu.Lock()
	p.target = target
	p.mu.Unlock()
	p.reset()
}

// hold keeps what is sent from now on, in each direction, until it is told not to.
func (p *proxy) hold(to, from bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = [2]bool{toTarget: to, fromTarget: from}
	close(p.changed)
	p.changed = make(chan struct{})
}

// reset ends every connection as a machine does that knows none of them.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.SetLinger(0) // one that has ended needs no reset
		_ = c.Close()
		delete(p.conns, c)
	}
}

// open returns once the direction is not held.
func (p *proxy) open(direction int) {
	for {
		p.mu.Lock()
		held, changed := p.held[direction] && !p.ended, p.changed
		p.mu.Unlock()
		if !held {
			return
		}
		<-changed
	}
}

func (p *proxy) add(c *net.TCPConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
	return !p.ended
}

func (p *proxy) remove(conns ...*net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close() // the other direction may have ended it
		delete(p.conns, c)
	}
}

func (p *proxy) pass(conn *net.TCPConn) {
	defer p.remove(conn)
	if !p.add(conn) {
		return
	}
	p.open(toTarget)
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	dialer := net.Dialer{Timeout: 5 * time.Second}
	other, err := dialer.DialContext(context.Background(), "tcp", target)
	if err != nil {
		return
	}
	up := other.(*net.TCPConn)
	defer p.remove(up)
	if !p.add(up) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.copy(up, conn, toTarget) })
	both.Go(func() { p.copy(conn, up, fromTarget) })
	both.Wait()
}

// copy ends both connections when one does.
func (p *proxy) copy(to, from *net.TCPConn, direction int) {
	defer p.remove(to, from)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.open(direction)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
