package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// newClient returns a client for one connection. Its requests end with life. gone is told that
// the server is not there any more; it must not block. probeTimeout bounds one attempt to find
// that out, and what the start waits for a stream.
//
// Compression is off, because a limit on compressed bytes would not bound what
// they decode to.
func newClient(life context.Context, headers http.Header, probeTimeout time.Duration, gone func(error)) (*http.Client, *guard) {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		base = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	base = base.Clone()
	base.MaxResponseHeaderBytes = maxHeaderSize
	base.DisableCompression = true
	g := &guard{base: base, carrier: base, headers: headers, life: life, gone: gone, probeTimeout: probeTimeout}
	return &http.Client{
		Transport:     g,
		CheckRedirect: g.follow,
	}, g
}

// RoundTrip makes one request.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if g.opensStream(r) {
		return g.openStream(r), nil
	}
	return g.exchange(r)
}

// exchange makes one request, and waits for the head of its answer.
func (g *guard) exchange(r *http.Request) (*http.Response, error) {
	if n := g.open.Add(1); n > maxRequests {
		g.open.Add(-1)
		return nil, fmt.Errorf("more than %d requests are open", maxRequests)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(g.life, func() { cancel(errEnded) })
	end := sync.OnceFunc(func() { stop(); cancel(nil); g.open.Add(-1) })
	out := r.Clone(ctx)
	if err := sendEmptyCursor(out); err != nil {
		end()
		return nil, err
	}
	if out.Header.Get("Mcp-Method") == methodInitialize { // sent while server/discover waits, with its headers
		out.Header.Del("Mcp-Method")
		out.Header.Del("Mcp-Protocol-Version")
	}
	out.Header.Set("Accept-Encoding", "identity")
	for name, values := range g.headers {
		out.Header[name] = values
	}
	if id, ok := r.Context().Value(taskNameKey{}).(string); ok {
		out.Header.Set("Mcp-Name", headerValue(id))
	}
	switch answer := captureOf(r.Context()); {
	case r.Method != http.MethodPost:
	case answer == nil:
		g.refused.Store(nil)
	case !g.plain:
		answer.expect(out)
	}
	resp, err := g.carrier.RoundTrip(out)
	if err != nil {
		end()
		if !g.unauthorized(r, err) {
			g.watch(r, err)
		}
		return nil, err
	}
	if id := r.Header.Get("Mcp-Session-Id"); id != "" && resp.Header.Get("Mcp-Session-Id") != "" {
		resp.Header.Set("Mcp-Session-Id", id) // the SDK ends the connection at another one
	}
	unzip(resp)
	if resp.Request != nil { // the one that was sent, with a token
		out = resp.Request
	}
	hideCredentials(resp, out.Header)
	resp.Body = &endingBody{resp.Body, end}
	if g.plain {
		return resp, nil
	}
	if err := g.bound(r, resp); err != nil {
		g.watch(r, err)
		return nil, errors.Join(err, resp.Body.Close())
	}
	return resp, nil
}

// bound replaces the body by one that cannot be too much.
func (g *guard) bound(r *http.Request, resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // empty where it cannot be read
	ok := resp.StatusCode >= 200 && resp.StatusCode < 300
	refused := resp.StatusCode >= http.StatusBadRequest
	switch post := r.Method == http.MethodPost; {
	case post && (ok || refused) && !isCall(r):
		return g.accept(resp)
	case ok && kind == "text/event-stream":
		resp.Body = g.events(r, resp.Body)
	case post && ok && kind == "text/html":
		return g.refusePage(r, resp, kind)
	case post && ok:
		return g.boundJSON(r, resp)
	case post && refused:
		return g.refuse(r, resp)
	default:
		resp.Body = &limitedBody{io.LimitReader(resp.Body, maxOtherBody), resp.Body}
	}
	return nil
}

// events bounds a stream of events.
func (g *guard) events(r *http.Request, body io.ReadCloser) io.ReadCloser {
	events := &eventBody{body: body, left: maxStream, answer: captureOf(r.Context()), odd: g.odd}
	return &watchedBody{events, func(err error) { g.watch(r, err) }}
}

// captureMessage gives the result of an answer to its capture, if there is one. An answer to
// another request is errStray.
func captureMessage(answer *capture, text []byte) error {
	if answer == nil {
		return nil
	}
	var m struct {
		ID     any             `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
	}
	err := json.Unmarshal(text, &m)
	if err == nil && m.Method == methodElicit && answer.asks != nil {
		answer.asks(m.Params)
		return nil
	}
	if err != nil || m.ID == nil || m.Method != "" {
		return nil // a request or nonsense: the SDK tells them apart
	}
	if err := answer.belongs(m.ID); err != nil || m.Result == nil {
		return err
	}
	return answer.take(m.Result)
}

// endingBody tells when it is closed.
type endingBody struct {
	io.ReadCloser
	end func()
}

// watchedBody tells why there is no more to read.
type watchedBody struct {
	io.ReadCloser
	done func(error)
}

// Read reads the body and reports the error that ends it.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.done(err)
	}
	return n, err
}

// Close closes the body and frees the place of its request.
func (b *endingBody) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}

// eventBody reads a stream of events and gives results in it to the capture of
// the call that opened the stream. Its reader gets whole events. It fails when an event or
// the stream is too large.
type eventBody struct {
	body   io.ReadCloser
	left   int64 // bytes of the stream that may still come
	answer *capture
	odd    *oddities

	lines lineEnds
	line  []byte // of the event, without its end
	named bool   // the event has a name that is not message
	data  []byte // of the event
	event []byte // as it came
	whole []byte // events that the reader has not read yet
	ended error  // why there is no more of the stream
}

// Read reads whole events.
func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.whole) == 0 {
		if b.ended != nil {
			return 0, b.ended
		}
		if b.left <= 0 {
			return 0, fmt.Errorf("an event stream of more than %d bytes", maxStream)
		}
		piece := make([]byte, min(eventPiece, b.left))
		n, err := b.body.Read(piece)
		b.left -= int64(n)
		if refused := b.feed(piece[:b.lines.unify(piece[:n])]); refused != nil {
			b.ended = refused
			return 0, refused
		}
		if err != nil {
			b.ended = cmp.Or(b.endStream(), err)
		}
	}
	n := copy(p, b.whole)
	b.whole = b.whole[n:]
	return n, nil
}

// endStream ends the event that the stream ended in.
func (b *eventBody) endStream() error {
	if len(b.event) == 0 {
		return nil
	}
	if len(b.line) > 0 {
		return b.feed([]byte("\n\n"))
	}
	return b.feed([]byte("\n"))
}

// eventPiece is how much of a stream is read at once, in bytes.
const eventPiece = 8 << 10

// Close closes the stream.
func (b *eventBody) Close() error { return b.body.Close() }

// feed takes the next bytes of the stream.
func (b *eventBody) feed(p []byte) error {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			end = len(p) - 1
		}
		chunk := p[:end+1]
		p = p[end+1:]
		if len(b.event)+len(chunk) > maxMessage {
			return b.refuse(errTooLarge)
		}
		b.event = append(b.event, chunk...)
		b.line = append(b.line, chunk...)
		if chunk[len(chunk)-1] != '\n' {
			return nil
		}
		if err := b.endLine(); err != nil {
			return err
		}
	}
	return nil
}

// endLine takes one whole line; an empty one ends an event.
func (b *eventBody) endLine() error {
	line := bytes.TrimRight(b.line, "\r\n")
	defer func() { b.line = b.line[:0] }()
	if name, ok := bytes.CutPrefix(line, []byte("event:")); ok {
		b.named = string(bytes.TrimSpace(name)) != "message"
	}
	if len(line) > 0 {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if b.data = append(b.data, '\n'); len(b.data) == 1 {
				b.data = b.data[:0]
			}
			b.data = append(b.data, bytes.TrimSpace(data)...)
		}
		return nil
	}
	data, event, named := b.data, b.event, b.named
	b.data, b.event, b.line, b.named = nil, nil, nil, false
	if len(data) == 0 {
		b.whole = append(b.whole, event...)
		return nil
	}
	if err := b.answer.inspect(data); err != nil {
		return b.refuse(err)
	}
	if data[0] == '[' {
		b.line = nil
		events, _ := io.ReadAll(asEvents(data)) // of memory
		return b.feed(events)
	}
	return b.endEvent(data, event, named)
}

// endEvent takes an event. One that carries no message is left out: the SDK would end the
// connection for it, or does not read it.
func (b *eventBody) endEvent(data, event []byte, named bool) error {
	fixed := b.odd.tidied(data, b.answer)
	if _, err := jsonrpc.DecodeMessage(fixed); err != nil {
		if !named {
			b.odd.note("events that carry no message")
		}
		return nil
	}
	if named || !bytes.Equal(fixed, data) {
		data, event = fixed, withData(event, fixed)
	}
	if b.answer.tookProgress(data) {
		return nil
	}
	if err := captureMessage(b.answer, data); err != nil && !errors.Is(err, errStray) { // the right one may follow
		return b.refuse(err)
	}
	b.whole = append(b.whole, event...)
	return nil
}

// withData returns an event with other data and no name.
func withData(event, data []byte) []byte {
	var out []byte
	data = bytes.ReplaceAll(data, []byte("\n"), []byte(" ")) // between its members
	for line := range bytes.Lines(event) {
		if !bytes.HasPrefix(line, []byte("data:")) && !bytes.HasPrefix(line, []byte("event:")) && len(line) > 1 {
			out = append(out, line...)
		}
	}
	return append(append(append(out, "data: "...), data...), "\n\n"...)
}

// refuse ends the stream, and gives the reason to the call that waits for it.
func (b *eventBody) refuse(err error) error {
	if b.answer != nil {
		b.answer.refuse(err)
	}
	return err
}
