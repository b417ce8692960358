package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// The bounds of what an authorization server may have us hold and wait for.
const (
	maxBody        = 1 << 20
	maxHeaderBytes = 64 << 10
	maxRedirects   = 3
	requestTimeout = 15 * time.Second
)

var (
	errAddress  = errors.New("an address that is neither https nor this machine's, or is private: oauth.privateNetwork allows those")
	errTooLarge = fmt.Errorf("an answer of more than %d bytes", maxBody)
	errRedirect = errors.New("a redirect to another address")
)

// carrier makes the requests of one sign-in: metadata, registration, tokens.
//
// What it may reach depends on what the operator has configured: a server on loopback may
// have an authorization server there, and no other may have it.
type carrier struct {
	direct, proxied   *http.Transport
	home              string // host and port of the server itself
	loopback, private bool
}

// newHTTPClient returns the client for the requests about one server.
func newHTTPClient(s *Server) (*http.Client, func(), error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, nil, err
	}
	c := &carrier{home: hostPort(u), loopback: isLoopback(u.Hostname()) || s.PrivateNetwork, private: s.PrivateNetwork}
	base := &http.Transport{
		MaxResponseHeaderBytes: maxHeaderBytes, DisableCompression: true, DisableKeepAlives: true,
		TLSHandshakeTimeout: requestTimeout, ResponseHeaderTimeout: requestTimeout, ForceAttemptHTTP2: true,
	}
	c.direct, c.proxied = base, base.Clone()
	c.direct.DialContext = c.dial
	c.proxied.Proxy = http.ProxyFromEnvironment
	return &http.Client{Transport: c, CheckRedirect: sameHost, Timeout: requestTimeout},
		func() { c.direct.CloseIdleConnections(); c.proxied.CloseIdleConnections() }, nil
}

// sameHost follows redirects of a GET on its own host.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || first.Method != http.MethodGet || r.URL.Scheme != first.URL.Scheme || hostPort(r.URL) != hostPort(first.URL) {
		return errRedirect
	}
	return nil
}

// RoundTrip makes a request to an address that may be reached, and bounds the answer.
func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := c.checkURL(r.URL); err != nil {
		return nil, err
	}
	base := c.direct
	if proxy, err := http.ProxyFromEnvironment(r); err != nil || proxy != nil {
		base = c.proxied // it finds out itself where names lead
	}
	resp, err := base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = &boundedBody{body: resp.Body, left: maxBody}
	if err := readable(resp, r.Method == http.MethodPost); err != nil {
		return nil, err
	}
	return resp, nil
}

// checkURL refuses what the address alone shows to be wrong.
func (c *carrier) checkURL(u *url.URL) error {
	local := isLoopback(u.Hostname())
	switch {
	case u.Host == "" || u.User != nil, u.Scheme != "https" && u.Scheme != "http":
		return errAddress
	case hostPort(u) == c.home && (u.Scheme == "https" || local):
		return nil
	case u.Scheme == "http" && !local, local && !c.loopback:
		return errAddress
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !c.mayDial(ip) {
		return errAddress
	}
	return nil
}

// mayDial reports whether an address may be connected to.
func (c *carrier) mayDial(ip netip.Addr) bool {
	ip = ip.Unmap()
	if translated.Contains(ip) {
		last := ip.As16()
		ip = netip.AddrFrom4([4]byte(last[12:]))
	}
	switch {
	case !ip.IsValid() || ip.IsMulticast() || ip.IsUnspecified() || ip.IsLinkLocalUnicast():
		return false // link-local is where clouds keep the credentials of a machine
	case ip.IsLoopback():
		return c.loopback
	case ip.IsPrivate() || sharedSpace.Contains(ip):
		return c.private
	}
	return true
}

// sharedSpace is the address space of RFC 6598, which carriers use for their own networks.
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// translated is the prefix of RFC 6052, behind which a network has all addresses of IPv4.
var translated = netip.MustParsePrefix("64:ff9b::/96")

// dial connects, and looks at the address that the name has led to.
func (c *carrier) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: requestTimeout}
	if address != c.home { // the operator has configured that one
		d.Control = func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil || !c.mayDial(to.Addr()) {
				return errAddress
			}
			return nil
		}
	}
	return d.DialContext(ctx, network, address)
}

// boundedBody fails once more than its bytes have come.
type boundedBody struct {
	body io.ReadCloser
	left int64
}

// Read reads the body.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	n, err := b.body.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// Close closes the body.
func (b *boundedBody) Close() error { return b.body.Close() }
