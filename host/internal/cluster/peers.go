package cluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Peers asks other hosts. Close it at the end.
type Peers struct {
	client    *http.Client
	transport *http.Transport
	times     Times
}

// NewPeers returns what asks other hosts with the credentials.
func NewPeers(c *Credentials, times Times) *Peers {
	t := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: times.DialTimeout}).DialContext,
		TLSClientConfig:        c.client.Clone(),
		TLSHandshakeTimeout:    times.PingTimeout,
		MaxResponseHeaderBytes: maxHeader,
		IdleConnTimeout:        times.IdleTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: times.PingAfter, PingTimeout: times.PingTimeout, WriteByteTimeout: times.PingTimeout},
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Peers{&http.Client{Transport: t, CheckRedirect: refuse}, t, times}
}

// Close ends the connections that are not in use.
func (p *Peers) Close() { p.transport.CloseIdleConnections() }

// Ask sends the request to the host at an address, HOST:PORT. It calls tell with what
// happens before the reply, from the goroutine of the caller, and returns the reply. When
// ctx ends, the other host is told that the caller is gone; the error is then the error of
// ctx. The error is ErrUnreachable if there is no reply: whether the request had an effect
// is then not known.
func (p *Peers) Ask(ctx context.Context, address string, q *Request, tell func(*Frame)) (*Reply, error) {
	reply, err := p.ask(ctx, address, q, tell)
	switch {
	case err == nil && reply.NotHere:
		return nil, ErrNotHere
	case err == nil, errors.Is(err, ErrNotHere), errors.Is(err, ErrBusy):
		return reply, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("%w: %w", ErrUnreachable, namesCredentials(err))
}

// greet asks the host at an address whether it is that host. It answers ErrNotHere if
// another one is there.
func (p *Peers) greet(ctx context.Context, address, host string) error {
	ctx, cancel := context.WithTimeout(ctx, p.times.DialTimeout+2*p.times.PingTimeout)
	defer cancel()
	_, err := p.Ask(ctx, address, &Request{Verb: VerbGreet, Host: host}, func(*Frame) {})
	switch {
	case errors.Is(err, ErrBusy):
		return nil // it is there
	case errors.Is(err, ErrUnreachable) && !errors.Is(err, ErrCredentials) && p.refused(ctx, address):
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	return err
}

// refused reports whether the server at an address does not take the credentials. A request
// may fail to be written before that is read.
func (p *Peers) refused(ctx context.Context, address string) bool {
	c := p.transport.TLSClientConfig.Clone()
	c.NextProtos = []string{"h2"}
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{Timeout: p.times.DialTimeout}, Config: c}).DialContext(ctx, "tcp", address)
	if err == nil {
		_ = conn.SetDeadline(time.Now().Add(p.times.PingTimeout)) // if that fails, so does the read
		_, err = conn.Read(make([]byte, 1))                       // the server speaks first
		_ = conn.Close()                                          // nothing was written
	}
	return errors.Is(namesCredentials(err), ErrCredentials)
}

func (p *Peers) ask(ctx context.Context, address string, q *Request, tell func(*Frame)) (_ *Reply, err error) {
	if err := CheckAddress(address); err != nil {
		return nil, err
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.GetBody = nil // the transport must not send a request again on its own
	res, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	switch res.StatusCode {
	case http.StatusOK:
		reply, err := readFrames(res.Body, tell)
		if err == nil {
			err = reply.check(q.Verb)
		}
		return reply, err
	case http.StatusMisdirectedRequest:
		return nil, ErrNotHere
	case http.StatusServiceUnavailable:
		return nil, ErrBusy
	}
	return nil, fmt.Errorf("it answers with %s", res.Status)
}

// readFrames reads an answer to its reply.
func readFrames(r io.Reader, tell func(*Frame)) (*Reply, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxFrame)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		f, err := parseFrame(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("its answer: %w", err)
		}
		if f.Reply != nil {
			return f.Reply, nil
		}
		tell(f)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return nil, io.ErrUnexpectedEOF
}

// CheckAddress refuses what is not HOST:PORT.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err == nil && host != "" && len(address) <= maxAddress {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || host == "" || len(address) > maxAddress || port == "0" || port == "" {
		return fmt.Errorf("%.300q is not an address of a host: expected HOST:PORT", address)
	}
	return nil
}

// maxAddress bounds an address, in bytes.
const maxAddress = 300
