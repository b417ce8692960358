package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// connection is one session with one server, from start to end.
type connection struct {
	server  *Server
	times   *times
	log     *slog.Logger
	session *sdk.ClientSession
	conn    sdk.Connection
	program *program   // nil for servers on the network
	guard   *guard     // nil for programs
	signer  *signer    // nil if the server is not signed in to
	api     *described // what an OpenAPI document describes; nil for other servers

	inProcess *sdk.ServerSession // of a server of this process; nil for others
	contexts  *callContexts      // of calls of it

	calls          context.Context // calls end with it
	cancel         context.CancelCauseFunc
	cancelRequests context.CancelFunc // ends every request of a guard

	changed  chan struct{}          // capacity 1: look at the list again
	waited   bool                   // await runs
	onOutput func(string)           // told of output that is no message
	noise    atomic.Pointer[string] // the first of it
	ended    chan struct{}          // closed once the session is over
	err      error                  // why; valid after ended
	lost     chan error             // capacity 1: the server on the network is not there any more

	left []LeftOut // of the last list; the keeper's own

	stale time.Duration // after which the list has to be read again, 0 for never; the keeper's own

	answered atomic.Bool // a call
	stray    sync.Once   // the log has it that there was an answer to another request

	flights    flights
	background sync.WaitGroup // requests that no call waits for
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

// ready is a transport whose connection exists already.
type ready struct{ conn sdk.Connection }

// Connect returns the connection.
func (r ready) Connect(context.Context) (sdk.Connection, error) { return r.conn, nil }

// start starts a session; ctx bounds the start alone.
//
// Everything that the session starts outlives ctx and ends with close.
func (k *keeper) start(ctx context.Context, h handshake) (*connection, *greeting, error) {
	g := &greeting{}
	c := &connection{server: &k.server, times: &k.options.times, signer: k.signer, log: k.log, changed: make(chan struct{}, 1), ended: make(chan struct{}), lost: make(chan error, 1)}
	c.contexts = k.contexts
	c.onOutput = func(line string) {
		if c.noise.CompareAndSwap(nil, &line) {
			k.noteOutput(line)
		}
	}
	c.calls, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	wire, cut := context.WithCancel(context.WithoutCancel(ctx))
	c.cancelRequests = cut
	if k.server.Session != nil {
		return k.useSession(c), g, nil
	}
	transport, err := c.transport(ctx, wire)
	if err != nil {
		c.cancel(err)
		c.cancelRequests()
		if c.server.Command != "" && cannotStart(err) {
			err = &permanentError{err, "its program cannot be started"}
		}
		return nil, g, err
	}
	self := &sdk.Implementation{Name: "quoin", Version: k.options.Version}
	client := c.client(self)
	var patience time.Duration
	var options sdk.ClientSessionOptions
	switch {
	case h == handshakeUnknown && k.server.Command != "":
		patience = k.options.times.discoverWait
	case h == handshakeOlder:
		options.ProtocolVersion = olderVersion
	}
	client.AddSendingMiddleware(g.greet(patience, self))
	err = registerTasks(client)
	if err == nil {
		c.session, err = client.Connect(ctx, transport, &options)
		c.conn = transport.conn
	}
	if err != nil {
		if unsupported := g.versionError(); unsupported != nil {
			err = unsupported
		} else {
			err = c.connectError(ctx, err)
		}
		return nil, g, errors.Join(err, c.close(k.options.StopTimeout))
	}
	c.waited = true
	go c.await()
	return c, g, nil
}

// client is what speaks for this host.
func (c *connection) client(self *sdk.Implementation) *sdk.Client {
	client := sdk.NewClient(self, &sdk.ClientOptions{
		Logger:             slog.New(slog.DiscardHandler),
		Capabilities:       capabilities(),
		MultiRoundTrip:     &sdk.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: c.elicit,
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			c.change()
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			if params, err := json.Marshal(r.Params); err == nil {
				c.flights.progressed(params)
			}
		},
	})
	client.AddSendingMiddleware(keepNothing)
	return client
}

// capabilities is what the host does for servers: it asks people. It has no files to show
// and no model to lend.
func capabilities() *sdk.ClientCapabilities {
	caps := &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}}
	caps.AddExtension(tasksExtension, map[string]any{})
	return caps
}

// stateless reports whether the server speaks a version of the protocol in which it asks
// by its answers.
func (c *connection) stateless() bool {
	if c.session == nil {
		return false // an OpenAPI document has no way to ask
	}
	r := c.session.InitializeResult()
	return r != nil && r.ProtocolVersion >= statelessVersion
}

// transport makes the way to the server. Requests over a network end with wire.
func (c *connection) transport(ctx, wire context.Context) (*recording, error) {
	if c.server.InProcess != nil {
		conn, err := c.connectInProcess(ctx)
		return &recording{Transport: ready{conn}}, err
	}
	if c.server.Command != "" {
		var err error
		c.program, err = launch(ctx, c.server, newLineLog(c.log, time.Now, c.onOutput), c.times.pipeGrace, c.change)
		if err != nil {
			return nil, err
		}
		c.program.conn.progressed = c.flights.progressed
		return &recording{Transport: ready{c.program.conn}}, nil
	}
	headers, err := c.server.header()
	if err != nil {
		return nil, err
	}
	client, guard := newClient(wire, headers, c.times.probeTimeout, c.loseServer)
	c.guard = guard
	c.signer.carry(guard)
	return &recording{Transport: &sdk.StreamableClientTransport{
		Endpoint:     c.server.URL,
		HTTPClient:   client,
		MaxEventSize: maxMessage,
	}}, nil
}

// connectError explains why a session did not start.
func (c *connection) connectError(ctx context.Context, err error) error {
	if c.guard != nil {
		if required := c.guard.denied.Load(); required != nil {
			return required
		}
		if refused := c.guard.refused.Load(); refused != nil && ctx.Err() == nil {
			return *refused
		}
	}
	var refusal *jsonrpc.Error
	refuses := errors.As(err, &refusal) && refusal.Code != codeTransport
	if ctx.Err() == nil && !refuses && c.programEnds() {
		return c.program.ending()
	}
	if noise := c.noise.Load(); noise != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no session within %v: %w", c.server.ConnectTimeout, noMessage(*noise))
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no session within %v: %s", c.server.ConnectTimeout, bounded(err.Error(), maxErrorText))
	}
	return errors.New(bounded(err.Error(), maxErrorText))
}

// programEnds waits for the end of a program whose connection has ended.
func (c *connection) programEnds() bool {
	if c.program == nil {
		return false
	}
	t := time.NewTimer(c.times.endGrace)
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

// loseServer ends the calls of a connection whose server is not there any more.
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
	if c.waited {
		<-c.ended
	}
	c.background.Wait()
	if c.guard != nil {
		c.guard.base.CloseIdleConnections()
	}
	return errors.Join(errs...)
}

// captured makes a request, and returns what the server answered.
func (c *connection) captured(ctx context.Context, send func(context.Context) (any, error)) (json.RawMessage, *capture, error) {
	ctx, answer := withCapture(ctx)
	defer answer.release()
	answer.tells = c.flights.progressed
	answer.strays = func() { c.stray.Do(func() { c.log.Info(strayAnswer) }) }
	if f, ok := ctx.Value(flightKey{}).(*flight); ok {
		answer.asks = func(params json.RawMessage) { c.flights.carried(f, params) }
	}
	res, err := send(ctx)
	switch {
	case answer.refusal() != nil:
		return nil, answer, answer.refusal()
	case answer.taken() != nil:
		return answer.taken(), answer, nil
	case err != nil:
		return nil, answer, err
	}
	if raw, ok := res.(json.RawMessage); ok {
		return raw, answer, nil
	}
	raw, err := json.Marshal(res)
	return raw, answer, err
}

// errCaptured stands for a result that its capture has.
var errCaptured = errors.New("the answer was captured")

// keepNothing has the session keep no answer to a call. The SDK would give what it keeps
// to all callers, who may be known to the server by tokens of their own, and would forget
// none of it before the connection ends. The list of tools is the host's alone, and is kept.
func keepNothing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, r)
		switch res.(type) {
		case *sdk.ListResourcesResult, *sdk.ListPromptsResult, *sdk.ReadResourceResult:
			if answer := captureOf(ctx); err == nil && answer != nil && answer.taken() != nil {
				return nil, errCaptured
			}
		}
		return res, err
	}
}

// send makes the request that a tool or an operation stands for. The capture in
// ctx takes the answer. A call that is made again carries the answers of a person.
func (c *connection) send(ctx context.Context, t *Tool, r *Request, again *resumption) (any, error) {
	input := r.Input
	if c.api != nil {
		return c.request(ctx, t, input)
	}
	var in struct {
		Cursor    *string           `json:"cursor"`
		URI       string            `json:"uri"`
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	var answers sdk.InputResponseMap
	var state string
	if again != nil && again.Kind == resumeCall {
		answers = again.answers
		if again.RequestState != nil {
			state = *again.RequestState
		}
	}
	meta := traceMeta(ctx)
	if t.Operation == "" {
		meta = callMeta(r, meta)
	}
	if c.contexts != nil {
		token, forget := c.contexts.note(ctx)
		defer forget()
		if meta == nil {
			meta = sdk.Meta{}
		}
		meta[metaCall] = token
	}
	if t.Operation == "" {
		if f, ok := ctx.Value(flightKey{}).(*flight); ok {
			meta = f.withProgressToken(meta)
		}
		return c.session.CallTool(ctx, &sdk.CallToolParams{Meta: meta, Name: t.offeredName(), Arguments: input, InputResponses: answers, RequestState: state})
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("the input of %s: %w", t.Operation, err)
	}
	cursor, on := c.sentCursor(in.Cursor)
	if !on {
		cursor = ""
	}
	switch t.Operation {
	case ResourcesList:
		return c.session.ListResources(ctx, &sdk.ListResourcesParams{Meta: meta, Cursor: cursor})
	case ResourcesRead:
		return c.session.ReadResource(ctx, &sdk.ReadResourceParams{Meta: meta, URI: in.URI, InputResponses: answers, RequestState: state})
	case PromptsList:
		return c.session.ListPrompts(ctx, &sdk.ListPromptsParams{Meta: meta, Cursor: cursor})
	default:
		return c.session.GetPrompt(ctx, &sdk.GetPromptParams{Meta: meta, Name: in.Name, Arguments: in.Arguments, InputResponses: answers, RequestState: state})
	}
}

// The members of _meta that tell attempts of one call, and the hosts of a run, apart.
// Digests stand for the ids, which are this host's business.
const (
	metaIdempotencyKey = "io.github.quoinhq/idempotencyKey"
	metaRun            = "io.github.quoinhq/run"
	metaEpoch          = "io.github.quoinhq/epoch"
)

// callMeta adds to meta what a server needs to make a call once: a key that is the same
// for each attempt, and the run with its epoch, which is higher in each host that takes
// the run over.
func callMeta(r *Request, meta sdk.Meta) sdk.Meta {
	if r.IdempotencyKey == "" {
		return meta
	}
	if meta == nil {
		meta = sdk.Meta{}
	}
	meta[metaIdempotencyKey], meta[metaRun] = digest(r.IdempotencyKey), digest(r.RunID)
	if r.Epoch > 0 {
		meta[metaEpoch] = r.Epoch
	}
	return meta
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
