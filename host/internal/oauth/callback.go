package oauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/text"
)

// callbackPath is where a browser comes back to on loopback.
const callbackPath = "/oauth/callback"

// maxQuery bounds what a browser brings back, in bytes.
const maxQuery = 64 << 10

// page is all that a browser is shown. It has no script, no code and no token.
var page = template.Must(template.New("").Parse(`<!doctype html><meta charset="utf-8"><title>Quoin</title>
<p>{{.}}</p>
`))

// show answers a browser.
func show(w http.ResponseWriter, status int, message string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = page.Execute(w, message) // the browser is gone
}

// Callback returns the handler of address. From then on sign-ins lead back there.
func (c *Client) Callback(address string) http.Handler {
	c.callback.Store(&address)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			show(w, http.StatusMethodNotAllowed, "Open the link in a browser.")
			return
		}
		query, err := readQuery(r)
		if err != nil {
			show(w, http.StatusBadRequest, sentence(err))
			return
		}
		// The browser may leave; what it brought is used all the same.
		g, err := c.Finish(context.WithoutCancel(r.Context()), query)
		c.answer(w, g, err)
	})
}

// answer tells a browser what came of a sign-in.
func (c *Client) answer(w http.ResponseWriter, g Grant, err error) {
	switch {
	case err == nil:
		c.log.Info("signed in to an MCP server", "mcp", g.Server, "issuer", text.Cut(g.Issuer, maxURL))
		show(w, http.StatusOK, fmt.Sprintf("You are signed in to %s. You can close this page.", g.Server))
	case g.Server != "": // it is stored; what waits for it could not be told
		c.log.Error("calls that wait for a sign-in were not told of it", "mcp", g.Server, "error", err)
		show(w, http.StatusOK, fmt.Sprintf("You are signed in to %s. What waits for it could not be told: run it again.", g.Server))
	default:
		c.log.Warn("a sign-in to an MCP server failed", "error", err)
		show(w, http.StatusBadRequest, sentence(err))
	}
}

// sentence is an error for a person who looks at a browser.
func sentence(err error) string {
	var known *Error
	switch {
	case errors.Is(err, errState), errors.Is(err, errIssuer), errors.Is(err, errDenied), errors.Is(err, errNoCode), errors.As(err, &known):
		return "You are not signed in: " + strings.ReplaceAll(err.Error(), "\n", ": ") + "."
	}
	return "You are not signed in. The log of the host says why."
}

// readQuery reads what a browser brings back. A parameter that stands there twice could
// be read in two ways.
func readQuery(r *http.Request) (url.Values, error) { return parseQuery(r.URL.RawQuery) }

func parseQuery(raw string) (url.Values, error) {
	if len(raw) > maxQuery {
		return nil, errState
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errState
	}
	for _, values := range query {
		if len(values) != 1 {
			return nil, errState
		}
	}
	return query, nil
}

// Login signs in with a browser on this machine: it listens on loopback, has open show the
// link, and waits for the browser to come back.
func (c *Client) Login(ctx context.Context, s *Server, o Owner, ch Challenge, open func(link string) error) (Grant, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.loginPort(ctx, s))))
	if err != nil {
		l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.CallbackPort)))
	}
	if err != nil {
		return Grant{}, s.errorf("no port for the browser to come back to: %v", err)
	}
	redirect := "http://" + l.Addr().String() + callbackPath
	f, err := c.start(ctx, s, o, ch, redirect)
	if err != nil {
		return Grant{}, errors.Join(err, l.Close())
	}
	c.rememberPort(ctx, s, l.Addr())
	return c.await(ctx, s.id(o), f, l, open)
}

// loginPort is the port to listen on: the configured one, or the one of the last sign-in,
// for which a client is registered.
func (c *Client) loginPort(ctx context.Context, s *Server) int {
	var last struct{ Port int }
	if s.CallbackPort == 0 && c.store.read(ctx, hashed("port", s.Name, s.URL)+clientExt, &last) == nil {
		return last.Port
	}
	return s.CallbackPort
}

// rememberPort notes the port of a sign-in. Without the note the next one registers a
// client of its own.
func (c *Client) rememberPort(ctx context.Context, s *Server, a net.Addr) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || s.CallbackPort != 0 {
		return
	}
	if err := c.store.write(ctx, hashed("port", s.Name, s.URL)+clientExt, struct{ Port int }{tcp.Port}); err != nil {
		c.log.Warn("the port of a sign-in was not noted", "error", err)
	}
}

// result is how a login ends.
type result struct {
	grant Grant
	err   error
}

// await serves the loopback listener until the browser has come back with the state of
// the flow. What else comes is turned away, and changes nothing.
func (c *Client) await(ctx context.Context, id string, f *flow, l net.Listener, open func(string) error) (Grant, error) {
	ended := make(chan result, 1)
	var once sync.Once
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+callbackPath, func(w http.ResponseWriter, r *http.Request) {
		query, err := readQuery(r)
		if err != nil || subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(f.State)) != 1 {
			show(w, http.StatusBadRequest, sentence(errState))
			return
		}
		first := false
		once.Do(func() { first = true })
		if !first {
			show(w, http.StatusBadRequest, sentence(errState))
			return
		}
		g, err := c.finish(context.WithoutCancel(r.Context()), id, f, query)
		c.answer(w, g, err)
		ended <- result{g, err}
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: requestTimeout, MaxHeaderBytes: maxHeaderBytes + maxQuery, IdleTimeout: time.Second}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		_ = srv.Shutdown(bounded) // so that the browser gets its page
		<-served
	}()
	if err := open(f.Link); err != nil {
		return Grant{}, err
	}
	select {
	case r := <-ended:
		return r.grant, r.err
	case err := <-served:
		served <- err
		return Grant{}, err
	case <-ctx.Done():
		return Grant{}, fmt.Errorf("signing in to %s: no browser came back: %w", f.Grant.Server, ctx.Err())
	}
}
