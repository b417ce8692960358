package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// suspect finds out, without blocking, whether the server of a request that lost its
// connection still takes connections. It calls gone if not. A server behind a proxy is not
// probed, because a refusal of it would say nothing, and one that only lets the attempt
// run out of time is not given up. One attempt is made at a time; it ends with life.
func (g *guard) suspect(r *http.Request) {
	if g.plain || g.life.Err() != nil || g.proxied(r) || !g.probing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer g.probing.Store(false)
		ctx, cancel := context.WithTimeout(g.life, g.probeTimeout)
		defer cancel()
		conn, err := g.dial(ctx, hostPort(r.URL))
		if err == nil {
			_ = conn.Close() // it has told what it can
			return
		}
		var timeout net.Error
		if ctx.Err() == nil && !(errors.As(err, &timeout) && timeout.Timeout()) {
			g.gone(fmt.Errorf("the connection was lost, and the server takes no other: %w", err))
		}
	}()
}

// proxied reports whether requests reach the server through a proxy, or may.
func (g *guard) proxied(r *http.Request) bool {
	if g.base.Proxy == nil {
		return false
	}
	proxy, err := g.base.Proxy(r)
	return proxy != nil || err != nil
}

// dial connects as requests do.
func (g *guard) dial(ctx context.Context, address string) (net.Conn, error) {
	if g.base.DialContext != nil {
		return g.base.DialContext(ctx, "tcp", address)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// hostPort is where the server of a URL listens.
func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// watch looks at why a request has no more to give. The end of a stream of events counts
// as a lost connection too, if the stream was opened for the answer to a call and ends
// without it, or for the server's own messages, which have no end.
func (g *guard) watch(r *http.Request, err error) {
	answer := captureOf(r.Context())
	answered := answer != nil && (answer.taken() != nil || answer.refusal() != nil)
	other := answer == nil && r.Method == http.MethodPost && errors.Is(err, io.EOF) // it tells nothing
	if r.Context().Err() == nil && !answered && !other {
		g.suspect(r)
	}
}
