package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/quoinhq/quoin/host/internal/openapi"
	"github.com/quoinhq/quoin/internal/awake"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// dialOpenAPI reads the document of a server. There is no session: the connection lasts
// until it is closed, and each call is one request.
func (p *peer) dialOpenAPI(ctx context.Context) (*connection, error) {
	c, wire := p.newConnection(ctx)
	ctx, cancel := awake.WithTimeout(ctx, p.server.ConnectTimeout)
	defer cancel()
	if err := c.describe(ctx, wire, "quoin/"+p.options.Version); err != nil {
		return nil, errors.Join(fmt.Errorf("reading the OpenAPI document %s: %s", p.server.OpenAPI, bounded(err.Error(), maxErrorText)), c.close(0))
	}
	return c, nil
}

// describe reads the document and finds the server.
func (c *connection) describe(ctx, wire context.Context, agent string) error {
	headers, err := c.server.header()
	if err != nil {
		return err
	}
	_, c.guard = newClient(wire, headers, c.options.times.probeTimeout, c.loseServer)
	c.guard.plain = true
	doc, err := openapi.Load(ctx, c.server.OpenAPI, c.documentTransport())
	if err != nil {
		return err
	}
	c.signer.carry(c.guard) // tokens are for operations
	address, err := doc.Address(c.server.URL, c.server.OpenAPI)
	if err != nil {
		return err
	}
	server, err := doc.At(address, c.guard, agent)
	if err != nil {
		return err
	}
	c.api = &described{doc: doc, server: server, operations: map[string]*openapi.Operation{}}
	for i := range doc.Operations {
		c.api.operations[doc.Operations[i].Name] = &doc.Operations[i]
	}
	return nil
}

// documentTransport carries the request for the document: with the configured headers, if
// the document stands where they are meant to go.
func (c *connection) documentTransport() http.RoundTripper {
	from, err := url.Parse(c.server.OpenAPI)
	to, toErr := url.Parse(c.server.URL)
	if c.server.URL == "" || err == nil && toErr == nil && openapi.SameOrigin(from, to) {
		return c.guard
	}
	return c.guard.base
}

// described adds the operations of a document, as a server would declare them. That a
// method only reads is the promise of a server that may not keep it: it counts as a hint.
func (l *listing) described(api *described) {
	for i := range api.doc.Operations {
		o := &api.doc.Operations[i]
		if l.full() {
			break
		}
		if len(o.Input) > maxSchemaBytes { // no server judges what is sent as a parameter
			l.leaveOut(o.Name, fmt.Sprintf("its input schema has %d bytes; the limit is %d", len(o.Input), maxSchemaBytes))
			continue
		}
		raw, err := jsontext.Marshal(map[string]any{
			"name": o.Name, "title": o.Title, "description": o.Description, "inputSchema": o.Input, "outputSchema": o.Output,
			"annotations": map[string]bool{"readOnlyHint": o.Safe, "idempotentHint": o.Idempotent},
		})
		if err != nil {
			l.leaveOut(o.Name, err.Error())
			continue
		}
		l.add(raw)
	}
	for _, o := range api.doc.LeftOut {
		name := o.Name
		if !strings.HasPrefix(name, "/") && !l.server.permits(name) { // which operations a lost path has is not known
			continue
		}
		if o.Reference != "" {
			name = bounded(name, 100) + " (" + o.Reference + ")"
		}
		l.leaveOut(name, o.Reason)
	}
}

// request performs the request of an operation.
func (c *connection) request(ctx context.Context, t *Tool, input json.RawMessage) (json.RawMessage, error) {
	o := c.api.operations[t.Name]
	if o == nil {
		return nil, fmt.Errorf("the document has no operation %q", t.Name)
	}
	raw, err := c.api.server.Call(ctx, o, input)
	if err == nil {
		err = inspect(raw)
	}
	if err != nil {
		return nil, requestError(t, err)
	}
	return raw, nil
}

// requestError translates the failure of a request. Failures of the network stay.
func requestError(t *Tool, err error) error {
	var input *openapi.InputError
	var status *openapi.StatusError
	var reply *openapi.ReplyError
	switch {
	case errors.As(err, &input):
		return &Error{Code: CodeInvalidInput, Message: fmt.Sprintf("The input of %q cannot be sent: %s.", t.Name, input.Text), Err: err}
	case errors.As(err, &status):
		e := statusRefusal(status.Status, status.Body, status.RetryAfter)
		e.Message, e.Err = fmt.Sprintf("%q was answered with %s", t.Name, bounded(status.Error(), maxErrorText)), err
		return e
	case errors.As(err, &reply):
		code := CodeInvalidReply
		if reply.TooLarge {
			code = CodeReplyTooLarge
		}
		return &Error{Code: code, Message: fmt.Sprintf("The answer to %q was not accepted: %s", t.Name, reply.Text), Unknown: true, Err: err}
	}
	return err
}
