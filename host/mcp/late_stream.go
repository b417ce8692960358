package mcp

import (
	"context"
	"io"
	"mime"
	"net/http"
	"time"
)

// Some servers and proxies send the head of a stream only with its first event, which may come
// hours later or never. The SDK waits for the head of the stream of a server's own messages
// before a session has started, and no timeout of the start ends that. So the start waits a
// moment, and the stream is opened later.

// opensStream reports whether a request is the first of a connection for a server's own messages.
func (g *guard) opensStream(r *http.Request) bool {
	if g.plain || captureOf(r.Context()) != nil {
		return false
	}
	if r.Method != http.MethodGet {
		return r.Header.Get("Mcp-Method") == "subscriptions/listen"
	}
	return !g.streamed.Swap(true) || r.Response != nil // which led here by a redirect
}

// exchanged is how a request ended.
type exchanged struct {
	resp *http.Response
	err  error
}

// openStream makes a request for a stream. Its answer stands for the real one if that has not
// come within a moment, or is an error: the SDK tries again while the start continues.
func (g *guard) openStream(r *http.Request) *http.Response {
	ctx, cancel := context.WithCancel(r.Context())
	answer := make(chan exchanged, 1)
	go func() { // ends with ctx
		resp, err := g.exchange(r.WithContext(ctx))
		answer <- exchanged{resp, err}
	}()
	moment := time.NewTimer(g.probeTimeout)
	defer moment.Stop()
	select {
	case a := <-answer:
		if a.err == nil {
			a.resp.Body = &endingBody{a.resp.Body, cancel}
			return a.resp
		}
		answer <- a
	case <-moment.C:
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1, Request: r,
		Body: &lateStream{ctx: ctx, cancel: cancel, answer: answer},
	}
}

// lateStream is a stream that may not be open yet. One that the server does not offer has no
// messages, and no end before the connection ends.
type lateStream struct {
	ctx    context.Context
	cancel context.CancelFunc
	answer chan exchanged
	body   io.ReadCloser // nil before it is open
}

// Read waits until the stream is open, and reads it.
func (s *lateStream) Read(p []byte) (int, error) {
	if s.body == nil {
		a := <-s.answer
		if a.err != nil {
			s.answer <- a
			return 0, a.err
		}
		s.body = a.resp.Body
		kind, _, err := mime.ParseMediaType(a.resp.Header.Get("Content-Type"))
		if err != nil || kind != "text/event-stream" || a.resp.StatusCode != http.StatusOK {
			<-s.ctx.Done()
		}
	}
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.body.Read(p)
}

// Close ends the request.
func (s *lateStream) Close() error {
	s.cancel()
	if s.body == nil {
		a := <-s.answer // it comes, as the request has ended
		if a.err != nil {
			return nil
		}
		s.body = a.resp.Body
	}
	return s.body.Close()
}
