//go:build linux

package node

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/quoinhq/quoin/internal/mutualtls"
	"github.com/quoinhq/quoin/internal/shell/node/nodepb"
)

// proxy passes connections on, keeps what clients send, and can cut or hold them.
type proxy struct {
	address string

	mu    sync.Mutex
	sent  bytes.Buffer
	conns []net.Conn
	held  bool
}

func startProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			onward, err := net.Dial("tcp", to)
			if err != nil {
				from.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, from, onward)
			p.mu.Unlock()
			wg.Go(func() { p.pass(onward, io.TeeReader(from, recorder{p})); onward.Close() })
			wg.Go(func() { p.pass(from, onward); from.Close() })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.cut()
		wg.Wait()
	})
	return p
}

// pass copies until one end is closed. What it reads while the proxy holds is lost.
func (p *proxy) pass(to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		held := p.held
		p.mu.Unlock()
		if !held {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// recorder keeps what a client sends.
type recorder struct{ p *proxy }

func (r recorder) Write(b []byte) (int, error) {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	return r.p.sent.Write(b)
}

func (p *proxy) recorded() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.sent.Bytes())
}

// cut closes the connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}

// hold loses all that comes, without closing the connections.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = true
}

// serveBadNode serves a node of the test's own, and returns the gateway's side.
func serveBadNode(t *testing.T, s nodepb.NodeServer) *Node {
	t.Helper()
	var ids [2]*mutualtls.Identity
	var keys [2][]byte
	for i := range ids {
		var err error
		if keys[i], err = mutualtls.New(); err != nil {
			t.Fatal(err)
		}
		if ids[i], err = mutualtls.Parse(keys[i]); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(grpc.Creds(credentials.NewTLS(ids[0].TLS(func(mutualtls.Fingerprint) error { return nil }))), grpc.WaitForHandlers(true))
	nodepb.RegisterNodeServer(g, s)
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	n, err := connect(enrolmentFile{Enrolment{Name: "bad", Address: l.Addr().String(), Fingerprint: ids[0].Fingerprint().String()}, string(keys[1])})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.Close()
		g.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return n
}
