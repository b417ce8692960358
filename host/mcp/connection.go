package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/quoinhq/quoin/host/internal/openapi"
)

// connection is one session with one server, from start to end.
type connection struct {
	*peer
	session   *sdk.ClientSession
	conn      sdk.Connection
	program   *program           // nil for servers on the network
	guard     *guard             // nil for programs
	api       *described         // what an OpenAPI document describes; nil for other servers
	inProcess *sdk.ServerSession // of a server of this process; nil for others

	calls          context.Context // calls end with it
	cancel         context.CancelCauseFunc
	cancelRequests context.CancelFunc // ends every request of a guard

	changed  chan struct{}          // capacity 1: look at the list again
	onOutput func(string)           // told of output that is no message
	noise    atomic.Pointer[string] // the first of it
	ended    chan struct{}          // closed once the session is over
	err      error                  // why; valid after ended
	lost     chan error             // capacity 1: the server on the network is not there any more

	answered atomic.Bool // a call
	stray    sync.Once   // the log has it that there was an answer to another request

	flights    flights
	background sync.WaitGroup // requests that no call waits for
}

// newConnection makes the connection of a session that is about to start. What it starts
// outlives ctx and ends with close; requests over a network end with wire.
func (p *peer) newConnection(ctx context.Context) (c *connection, wire context.Context) {
	c = &connection{peer: p, changed: make(chan struct{}, 1), ended: make(chan struct{}), lost: make(chan error, 1)}
	c.calls, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	wire, c.cancelRequests = context.WithCancel(context.WithoutCancel(ctx))
	return c, wire
}

// recording remembers the connection that a transport makes, so that it can be
// closed when the session never starts.
type recording struct {
	sdk.Transport
	conn sdk.Connection
}

// Connect connects the transport.
func (r *recording) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := r.Transport.Connect(ctx)
	r.conn = conn
	return conn, err
}

// ready is a transport with a connection that exists already.
type ready struct{ conn sdk.Connection }

// Connect returns the connection.
func (r ready) Connect(context.Context) (sdk.Connection, error) { return r.conn, nil }

// stateless reports whether the server speaks a version of the protocol in which it asks
// by its answers.
func (c *connection) stateless() bool {
	if c.session == nil {
		return false // an OpenAPI document has no way to ask
	}
	r := c.session.InitializeResult()
	return r != nil && r.ProtocolVersion >= statelessVersion
}

// programEnds waits for the end of the program after the end of its connection.
func (c *connection) programEnds() bool {
	if c.program == nil {
		return false
	}
	t := time.NewTimer(c.options.times.endGrace)
	defer t.Stop()
	select {
	case <-c.program.done:
		return true
	case <-t.C:
		return false
	}
}

// change notes that the list of tools may be another.
func (c *connection) change() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// loseServer ends the calls of a connection when its server is not there any more.
//
// The keeper learns of it through lost and connects again; the session itself
// would take longer to notice.
func (c *connection) loseServer(err error) {
	select {
	case c.lost <- err:
	default:
	}
	c.cancel(err)
}

// await waits for the end of the session.
//
// The end of a program explains more than the end of its pipe, so await waits for
// it a moment.
func (c *connection) await() {
	err := c.session.Wait()
	c.cancel(errEnded)
	if c.programEnds() {
		err = c.program.ending()
	}
	if err == nil {
		err = errors.New("the server closed the connection")
	}
	c.err = errors.New(bounded(err.Error(), maxErrorText))
	close(c.ended)
}

// close ends the session, its requests and its program. It takes no longer than
// the stages of stopping a program, or the farewell to a server on the network.
func (c *connection) close(grace time.Duration) error {
	c.cancel(errEnded)
	farewell := time.AfterFunc(grace, c.cancelRequests)
	defer farewell.Stop()
	defer c.cancelRequests()
	var errs []error
	if c.conn != nil {
		_ = c.conn.Close() // a farewell that fails is of no interest any more
	}
	if c.session != nil && c.server.Session == nil {
		_ = c.session.Close() // waits for its goroutines; reports the farewell again
	}
	if c.inProcess != nil {
		_ = c.inProcess.Close() // our end is closed, so that it has ended already
	}
	if c.program != nil {
		errs = append(errs, c.program.stop(grace))
	}
	if c.session != nil {
		<-c.ended
	}
	c.background.Wait()
	if c.guard != nil {
		c.guard.base.CloseIdleConnections()
	}
	return errors.Join(errs...)
}

func digest(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// traceMeta says in a request which span it belongs to, so that the spans of the server
// join the trace of the run.
func traceMeta(ctx context.Context) sdk.Meta {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	meta := sdk.Meta{}
	for name, value := range carrier {
		meta[name] = value
	}
	return meta
}

// described is a server with an OpenAPI document. The operations of the document are its
// tools.
type described struct {
	doc        *openapi.Document
	server     *openapi.Server
	operations map[string]*openapi.Operation
}
