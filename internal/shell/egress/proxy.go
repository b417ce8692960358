package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The bounds of what a client may have the proxy hold and wait for.
const (
	maxConnections = 64 // of one command at once; more wait
	maxHeaderBytes = 64 << 10
	maxRefusals    = 100 // that are reported of one command
	maxAddresses   = 4   // that are tried of one name
	headerTimeout  = 15 * time.Second
	dialTimeout    = 15 * time.Second
	idleTimeout    = 5 * time.Minute // of a connection on which nothing passes
)

// The ports of domains without one.
const (
	portHTTP  = 80
	portHTTPS = 443
)

// Config is what a Proxy lets through. Only Domains is needed.
type Config struct {
	// Domains are the names that may be reached.
	Domains []string
	// Refused is told of each request that did not pass, once for each server and
	// reason of a listener. It may be called from many goroutines.
	Refused func(Refusal)
	// Lookup resolves a name. Defaults to the machine's resolver.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial connects to an address that has been checked.
	Dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

// Refusal is a request that did not pass.
type Refusal struct {
	Server string // as the client wrote it, without control characters: "example.org:443"
	Reason string
	Hint   string // what an operator may change; empty if no setting allows it
}

// Error returns the reason and the hint.
func (r Refusal) Error() string {
	text := fmt.Sprintf("%s: %s", r.Server, r.Reason)
	if r.Hint != "" {
		text += ": " + r.Hint
	}
	return text
}

// Proxy passes requests on to the domains of its list. It may serve many listeners.
type Proxy struct {
	domains []domain
	config  Config
}

// New returns a proxy, or says what is wrong with the list.
func New(c Config) (*Proxy, error) {
	domains, err := parseDomains(c.Domains)
	if err != nil {
		return nil, fmt.Errorf("domains: %w", err)
	}
	if c.Refused == nil {
		c.Refused = func(Refusal) {}
	}
	if c.Lookup == nil {
		c.Lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	if c.Dial == nil {
		c.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", to.String())
		}
	}
	return &Proxy{domains: domains, config: c}, nil
}

// Serve serves a listener until it is closed or ctx ends. It closes the listener, and
// every connection that it has made.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &service{proxy: p, told: map[Refusal]bool{}}
	s.forward = s.newForward()
	server := &http.Server{
		Handler: s, MaxHeaderBytes: maxHeaderBytes, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		ErrorLog: silent, BaseContext: func(net.Listener) context.Context { return ctx },
		DisableGeneralOptionsHandler: true,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // it closes the listener, which ends Serve
	defer stop()
	err := server.Serve(&limitedListener{Listener: l, ctx: ctx, taken: make(chan struct{}, maxConnections)})
	cancel()
	_ = server.Close() // the error of Serve is the one to return
	s.end()
	s.transport.CloseIdleConnections()
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// silent drops what net/http says about clients, which write it.
var silent = log.New(io.Discard, "", 0)

// service is a Proxy at one listener.
type service struct {
	proxy     *Proxy
	transport *http.Transport
	forward   *httputil.ReverseProxy
	handlers  sync.WaitGroup

	mu    sync.Mutex
	ended bool
	told  map[Refusal]bool
}

// newForward returns what passes plain HTTP on.
func (s *service) newForward() *httputil.ReverseProxy {
	s.transport = &http.Transport{
		DialContext:            func(ctx context.Context, _, address string) (net.Conn, error) { return s.dial(ctx, address, portHTTP) },
		MaxResponseHeaderBytes: maxHeaderBytes, ResponseHeaderTimeout: idleTimeout, IdleConnTimeout: headerTimeout,
		DisableCompression: true, MaxConnsPerHost: maxConnections,
	}
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.User = nil },
		Transport: s.transport, ErrorLog: silent, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { s.fail(w, r.URL.Host, err) },
	}
}

// ServeHTTP passes a request on, or says why not.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		return
	}
	defer s.handlers.Done()
	switch {
	case r.Method == http.MethodConnect:
		s.connect(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		s.forward.ServeHTTP(w, r)
	default:
		s.fail(w, r.Host, refuse("the proxy takes CONNECT, and requests whose target starts with http://", ""))
	}
}

// enter counts a request, unless Serve waits for the last one.
func (s *service) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.handlers.Add(1)
	}
	return !s.ended
}

// end lets no more requests in, and waits for those that are.
func (s *service) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.handlers.Wait()
}

// dial connects to a server of the list, at an address that it has checked.
func (s *service) dial(ctx context.Context, server string, usual uint16) (*idleConn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	name, port, err := s.proxy.admit(server, usual)
	if err != nil {
		return nil, err
	}
	// The dot keeps the resolver from trying the name below the machine's own domain.
	found, err := s.proxy.config.Lookup(ctx, name+".")
	if err != nil {
		return nil, fmt.Errorf("%s cannot be looked up", name)
	}
	ips, err := usable(found)
	if errors.Is(err, errNotPublic) {
		return nil, refuse(err.Error(), "")
	}
	if err != nil {
		return nil, err
	}
	for _, ip := range ips[:min(len(ips), maxAddresses)] {
		var conn net.Conn
		if conn, err = s.proxy.config.Dial(ctx, netip.AddrPortFrom(ip, port)); err == nil {
			return &idleConn{Conn: conn}, nil
		}
	}
	return nil, fmt.Errorf("%s cannot be reached", name)
}

// admit returns the name and the port of a server if the list has them.
func (p *Proxy) admit(server string, usual uint16) (name string, port uint16, err error) {
	host, portText, err := net.SplitHostPort(server)
	n, portErr := strconv.ParseUint(portText, 10, 16)
	if err != nil || portErr != nil {
		return "", 0, refuse("the target is not NAME:PORT", "")
	}
	name, port = strings.ToLower(strings.TrimSuffix(host, ".")), uint16(n)
	if !isName(name) {
		return "", 0, refuse("the proxy takes names, not addresses", "")
	}
	known := false
	for _, d := range p.domains {
		if d.has(name, port, usual) {
			return name, port, nil
		}
		known = known || d.hasName(name)
	}
	if known {
		return "", 0, refuse(fmt.Sprintf("port %d is not allowed", port),
			fmt.Sprintf(`an operator can add "%s:%d" to plugins.shell.sandbox.domains`, name, port))
	}
	return "", 0, refuse("the domain is not allowed", fmt.Sprintf(`an operator can add %q to plugins.shell.sandbox.domains`, name))
}

func refuse(reason, hint string) error { return Refusal{Reason: reason, Hint: hint} }

// fail answers a request that did not pass, and reports it if the proxy refused it.
func (s *service) fail(w http.ResponseWriter, server string, err error) {
	status, kind := http.StatusBadGateway, "destination_unavailable"
	var refusal Refusal
	if errors.As(err, &refusal) {
		status, kind = http.StatusForbidden, "http_request_denied"
		refusal.Server = printable(server)
		err = refusal
		s.report(refusal)
	}
	w.Header().Set("Proxy-Status", fmt.Sprintf(`quoin; error=%s; details=%q`, kind, printable(err.Error())))
	w.Header().Set("Connection", "close")
	http.Error(w, "quoin: "+printable(err.Error()), status)
}

// report tells of a refusal once.
func (s *service) report(r Refusal) {
	s.mu.Lock()
	tell := !s.told[r] && len(s.told) < maxRefusals
	if tell {
		s.told[r] = true
	}
	s.mu.Unlock()
	if tell {
		s.proxy.config.Refused(r)
	}
}

// printable returns a text that a client wrote as one that controls no terminal.
func printable(text string) string {
	const most = 400
	clean := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, text)
	return clean[:min(len(clean), most)]
}
