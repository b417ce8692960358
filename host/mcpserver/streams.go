package mcpserver

import (
	"context"
	"io"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
)

// Serve answers one client over two streams, one message a line, until in ends or ctx
// does. What is asked before the end of in is answered, for 10 s at most. All of its requests act for the session. Nothing else may write to out.
func (s *Server) Serve(ctx context.Context, session host.Session, in io.Reader, out io.Writer) error {
	limit := math.MaxInt
	if s.options.MaxBody < math.MaxInt {
		limit = int(s.options.MaxBody)
	}
	w := &writer{out: out}
	streams := &mcp.IOTransport{Reader: newMessageLines(reader(in), limit, w, s.options.Logger), Writer: w, MaxLineLength: -1}
	err := s.server.Run(withCaller(ctx, session), answering{streams, s.times.lastAnswers})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// reader is in, with a Close that ends a pending Read where the stream can do that.
func reader(in io.Reader) io.ReadCloser {
	if c, ok := in.(io.ReadCloser); ok {
		return c
	}
	return io.NopCloser(in)
}

// writer is a stream that the server does not close.
type writer struct {
	mu  sync.Mutex
	out io.Writer
}

// Write writes one message.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func (w *writer) Close() error { return nil }

// listen is the request for notifications. Its answer comes when the client wants no more of
// them.
const listen = "subscriptions/listen"

// answering is a transport with a connection that ends once what was asked is answered.
type answering struct {
	mcp.Transport
	within time.Duration // of the end of the input
}

// Connect connects the transport.
func (a answering) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := a.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &answeringConnection{Connection: c, within: a.within, open: make(map[jsonrpc.ID]bool), changed: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

// answeringConnection holds the end of its input back while requests are open.
type answeringConnection struct {
	mcp.Connection
	within time.Duration

	mu      sync.Mutex
	open    map[jsonrpc.ID]bool // requests without an answer
	changed chan struct{}       // capacity 1: a request was answered
	closed  chan struct{}
	once    sync.Once
}

// Read returns the next message, or the end of the input once all is answered.
func (c *answeringConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.awaitAnswers(ctx)
		return nil, err
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && r.Method != listen {
		c.mu.Lock()
		c.open[r.ID] = true
		c.mu.Unlock()
	}
	return m, nil
}

// awaitAnswers waits until no request is open.
func (c *answeringConnection) awaitAnswers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	for {
		c.mu.Lock()
		left := len(c.open)
		c.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-c.changed:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Write writes a message, and notes which request it answers.
func (c *answeringConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, r.ID)
		c.mu.Unlock()
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
	return err
}

// Close closes the connection.
func (c *answeringConnection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
