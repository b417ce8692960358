package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// maxAnswer bounds an answer in bytes.
const maxAnswer = 64 << 20

// Options say how a Client reaches its server. The zero value has no token.
type Options struct {
	// Token is the server's. Defaults to "": requests carry no token.
	Token string
	// Transport carries the requests. Defaults to a transport of the Client's own,
	// which follows the proxy settings of the environment. Close ends its idle
	// connections.
	Transport http.RoundTripper
}

// Client talks to one server. It is safe for concurrent use. Make one with New and
// keep it: it reuses connections.
type Client struct {
	base  string // without a slash at its end
	token string
	http  http.Client
}

// New returns a client of the server at an http or https URL. It does not connect:
// use Health to find out whether the server answers.
func New(server string, o Options) (*Client, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("server %q is not a URL such as http://127.0.0.1:8787", u.Redacted())
	}
	transport := o.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout:     time.Minute,
		}
	}
	c := &Client{base: strings.TrimRight(u.String(), "/"), token: o.Token}
	c.http.Transport = transport
	// The token is for this server and no other.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// Close ends idle connections. Requests under way continue.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// get fetches a document into out.
func (c *Client) get(ctx context.Context, s host.Session, path string, out any) error {
	return c.do(ctx, s, http.MethodGet, path, nil, out)
}

// post sends in and reads the answer into out, which may be nil.
func (c *Client) post(ctx context.Context, s host.Session, path string, in, out any) error {
	return c.do(ctx, s, http.MethodPost, path, in, out)
}

// do sends a request and reads the answer into out, which may be nil.
func (c *Client) do(ctx context.Context, s host.Session, method, path string, in, out any) error {
	resp, err := c.send(ctx, s, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: the answer of the server was cut off: %w", path, err)
	case len(b) > maxAnswer:
		return fmt.Errorf("%s: the answer of the server is longer than %d bytes", path, maxAnswer)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("%s: the answer of the server makes no sense: %w", path, err)
	}
	return nil
}

// send returns the answer to a request that was not refused. The caller closes
// its body.
func (c *Client) send(ctx context.Context, s host.Session, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := jsontext.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	gateway.SetSession(r.Header, s)
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, notReached(c.base, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, problemOf(resp)
}

// problemOf reads the problem of an answer that is not a success.
func problemOf(resp *http.Response) error {
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("the server answered %s, and broke off: %w", resp.Status, err)
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	p := &gateway.Problem{}
	if err != nil || media != "application/problem+json" || json.Unmarshal(b, p) != nil || p.Code == "" {
		return fmt.Errorf("the server answered %s, which is not an answer of quoin serve", resp.Status)
	}
	return p
}

// notReached adds the URL to the error of a request that did not reach a server.
func notReached(base string, err error) error {
	if Sent(err) {
		return err
	}
	return fmt.Errorf("no server was reached at %s; start quoin serve there, or correct the URL: %w", base, err)
}

// Sent reports whether a request that failed with err may have had an effect. It is
// false when the server refused the request or no connection was made: then you may
// repeat it safely.
func Sent(err error) bool {
	var refused *gateway.Problem
	var op *net.OpError
	return !errors.As(err, &refused) && !(errors.As(err, &op) && op.Op == "dial")
}
