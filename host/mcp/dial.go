package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// start starts a session; ctx bounds the start alone. noteOutput is told what the server
// writes first that is no message.
func (p *peer) start(ctx context.Context, h handshake, noteOutput func(string)) (*connection, *greeting, error) {
	g := &greeting{}
	c, wire := p.newConnection(ctx)
	c.onOutput = func(line string) {
		if c.noise.CompareAndSwap(nil, &line) {
			noteOutput(line)
		}
	}
	if p.server.Session != nil {
		c.use(p.server.Session)
		return c, g, nil
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
	self := &sdk.Implementation{Name: "quoin", Version: p.options.Version}
	client := c.client(self)
	var patience time.Duration
	var options sdk.ClientSessionOptions
	switch h {
	case handshakeUnknown:
		patience = p.options.times.discoverWait
	case handshakeOlder:
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
		return nil, g, errors.Join(err, c.close(p.options.StopTimeout))
	}
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

// transport makes the way to the server. Requests over a network end with wire.
func (c *connection) transport(ctx, wire context.Context) (*recording, error) {
	if c.server.InProcess != nil {
		conn, err := c.connectInProcess(ctx)
		return &recording{Transport: ready{conn}}, err
	}
	if c.server.Command != "" {
		var err error
		c.program, err = launch(ctx, &c.server, newLineLog(c.log, time.Now, c.onOutput), c.options.times.pipeGrace, c.change)
		if err != nil {
			return nil, err
		}
		c.program.conn.progressed, c.program.conn.odd = c.flights.progressed, c.odd
		return &recording{Transport: ready{c.program.conn}}, nil
	}
	headers, err := c.server.header()
	if err != nil {
		return nil, err
	}
	client, guard := newClient(wire, headers, c.options.times.probeTimeout, c.loseServer)
	c.guard, guard.odd = guard, c.odd
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
	var own *Error // of an answer that is not accepted
	refuses := errors.As(err, &refusal) && refusal.Code != codeTransport || errors.As(err, &own)
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

// connectInProcess connects to the server, and returns our end.
func (c *connection) connectInProcess(ctx context.Context) (sdk.Connection, error) {
	files := &pipes{}
	inR, inW := files.open()
	outR, outW := files.open()
	if files.err != nil {
		return nil, errors.Join(files.err, files.close())
	}
	session, err := c.server.InProcess.Connect(context.WithoutCancel(ctx), &sdk.IOTransport{Reader: inR, Writer: outW, MaxLineLength: -1}, nil)
	if err != nil {
		return nil, errors.Join(err, files.close())
	}
	c.inProcess = session
	conn := newLineConn(inW, outR, nil, newLineLog(c.log, time.Now, nil), c.change)
	conn.progressed, conn.odd = c.flights.progressed, c.odd
	return conn, nil
}

// use makes the connection one over a session of the embedder's, which stays open.
func (c *connection) use(session *sdk.ClientSession) {
	c.session = session
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }() // ends with the session
	go func() {
		defer close(c.ended)
		select {
		case err := <-ended:
			c.cancel(errEnded)
			c.err = errors.Join(errors.New("the session has ended"), err)
		case <-c.calls.Done():
			c.err = errEnded
		}
	}()
}
