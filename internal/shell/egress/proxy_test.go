package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// A server lingers for half a second over a connection that it has refused.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// internet stands for what is outside: names, and the servers behind their addresses.
type internet struct {
	names   map[string][]netip.Addr // with the dot of the root
	servers map[netip.AddrPort]string

	mu       sync.Mutex
	lookedUp []string
	dialed   []netip.AddrPort
	refused  []Refusal
}

var (
	web     = netip.MustParseAddr("93.184.216.34")
	unused  = netip.MustParseAddr("93.184.216.35")
	private = netip.MustParseAddr("10.0.0.1")
)

func (i *internet) lookup(_ context.Context, name string) ([]netip.Addr, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lookedUp = append(i.lookedUp, name)
	if ips, ok := i.names[name]; ok {
		return ips, nil
	}
	return nil, errors.New("no such host")
}

func (i *internet) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	i.mu.Lock()
	i.dialed = append(i.dialed, to)
	i.mu.Unlock()
	address, ok := i.servers[to]
	if !ok {
		return nil, errors.New("connection refused")
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// serve runs a proxy on loopback, and returns its address and what stops it.
func (i *internet) serve(t *testing.T, domains ...string) (address string, stop func()) {
	t.Helper()
	p, err := New(Config{Domains: domains, Lookup: i.lookup, Dial: i.dial, Refused: func(r Refusal) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.refused = append(i.refused, r)
	}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, l) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

// reached returns the addresses that were dialed, and the names that were looked up.
func (i *internet) reached() (dialed []netip.AddrPort, lookedUp []string, refused []Refusal) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.dialed, i.lookedUp, i.refused
}

// withServers is an internet with example.org on a plain and a TLS server.
func withServers(t *testing.T) (*internet, *x509.CertPool) {
	t.Helper()
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "host %s, path %s, proxy header %q", r.Host, r.URL.Path, r.Header.Get("Proxy-Authorization"))
	})
	plain, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	return &internet{
		names: map[string][]netip.Addr{"example.com.": {web}, "a.example.com.": {web}, "inside.example.com.": {private}, "both.example.com.": {private, web}, "second.example.com.": {unused, web}},
		servers: map[netip.AddrPort]string{
			netip.AddrPortFrom(web, 80):   plain.Listener.Addr().String(),
			netip.AddrPortFrom(web, 443):  secure.Listener.Addr().String(),
			netip.AddrPortFrom(web, 8080): plain.Listener.Addr().String(),
		},
	}, pool
}

func clientOf(t *testing.T, proxy string, roots *x509.CertPool) *http.Client {
	t.Helper()
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy, User: url.UserPassword("u", "p")}), TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

// TestAllowedDomainsAreReached drives a client of the standard library through the proxy.
func TestAllowedDomainsAreReached(t *testing.T) {
	world, roots := withServers(t)
	proxy, _ := world.serve(t, "example.com", "both.example.com", "second.example.com", "example.com:8080")
	client := clientOf(t, proxy, roots)
	for address, want := range map[string]string{
		"http://example.com/x":        `host example.com, path /x, proxy header ""`,
		"https://example.com/y":       `host example.com, path /y, proxy header ""`,
		"http://EXAMPLE.com/z":        `host EXAMPLE.com, path /z, proxy header ""`,
		"http://example.com:8080/":    `host example.com:8080, path /, proxy header ""`,
		"http://both.example.com/":    `host both.example.com, path /, proxy header ""`,
		"http://second.example.com/1": `host second.example.com, path /1, proxy header ""`,
	} {
		resp, err := client.Get(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || string(body) != want {
			t.Errorf("%s: status %d, %v, %q, want %q", address, resp.StatusCode, err, body, want)
		}
	}
	dialed, _, refused := world.reached()
	if len(refused) != 0 {
		t.Errorf("refused: %v", refused)
	}
	for _, to := range dialed {
		if to.Addr() == private {
			t.Errorf("%v was dialed", to)
		}
	}
}

// request sends bytes to the proxy, and returns the answer.
func request(t *testing.T, proxy, raw string) (status int, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, raw); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body) // what came until the end
	return resp.StatusCode, string(text)
}

func connectTo(target string) string {
	return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n"
}

func getFrom(target string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n"
}

// TestOtherTargetsAreRefused: nothing but the list is looked up, and nothing is dialed.
func TestOtherTargetsAreRefused(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{connectTo("other.org:443"), `an operator can add "other.org" to plugins.shell.sandbox.domains`},
		{getFrom("http://other.org/"), `an operator can add "other.org" to plugins.shell.sandbox.domains`},
		{connectTo("example.com:22"), `an operator can add "example.com:22" to plugins.shell.sandbox.domains`},
		{connectTo("example.com:80"), "port 80 is not allowed"},
		{getFrom("http://example.com:443/"), "port 443 is not allowed"},
		{connectTo("example.com:8080"), "port 8080 is not allowed"},
		{connectTo("example.com.evil.org:443"), "the domain is not allowed"},
		{connectTo("evilexample.com:443"), "the domain is not allowed"},
		{connectTo("wild.example.org.:22"), "port 22 is not allowed"},
		{connectTo("example.org:443"), "the domain is not allowed"}, // *.example.org is not it
		{connectTo("127.0.0.1:443"), "names, not addresses"},
		{connectTo("127.1:443"), "names, not addresses"},
		{connectTo("2130706433:443"), "names, not addresses"},
		{connectTo("0x7f000001:443"), "names, not addresses"},
		{connectTo("0177.0.0.0x1:443"), "names, not addresses"},
		{connectTo("[::1]:443"), "names, not addresses"},
		{connectTo("[::ffff:169.254.169.254]:443"), "names, not addresses"},
		{getFrom("http://169.254.169.254/latest/meta-data/"), "names, not addresses"},
		{connectTo("localhost:443"), "the domain is not allowed"},
		{connectTo("example.com"), "NAME:PORT"},
		{connectTo("example.com:https"), "NAME:PORT"},
		{connectTo("example.com:65979"), "NAME:PORT"}, // 443 in 16 bits
		{"CONNECT /x HTTP/1.1\r\nHost: example.com:443\r\n\r\n", "NAME:PORT"},
		{"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "whose target starts with http://"},
		{getFrom("https://example.com/"), "whose target starts with http://"},
		{getFrom("ftp://example.com/"), "whose target starts with http://"},
		{"OPTIONS * HTTP/1.1\r\nHost: example.com\r\n\r\n", "whose target starts with http://"},
		{getFrom("http://other.org@evil.org/"), "the domain is not allowed"},
		{getFrom("http://example.com@evil.org/"), "the domain is not allowed"},
		{getFrom("http://example.com%2eevil.org/"), ""},
		{getFrom("http://example.com%00.evil.org/"), ""},
		{getFrom("http://еxample.com/"), "other.org"}, // the first letter is Cyrillic
	} {
		world, _ := withServers(t)
		proxy, stop := world.serve(t, "example.com", "*.example.org")
		status, body := request(t, proxy, c.raw)
		stop()
		if status != 403 && status != 400 || status == 403 && c.want != "other.org" && !strings.Contains(body, c.want) {
			t.Errorf("%q: %d %q, want 403 with %q", c.raw, status, body, c.want)
		}
		if dialed, lookedUp, refused := world.reached(); len(dialed)+len(lookedUp) != 0 || status == 403 && len(refused) != 1 {
			t.Errorf("%q: dialed %v, looked up %v, reported %v", c.raw, dialed, lookedUp, refused)
		}
	}
}

// TestNamesOfOtherAddressesAreRefused: an allowed name does not lead into the network of
// the machine, whatever DNS says, and the address that is dialed is the one checked.
func TestNamesOfOtherAddressesAreRefused(t *testing.T) {
	for _, ip := range append([]string{
		"::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:a00:1::", "2002:7f00:1::1",
		"2001:0:a00:1::", "::10.0.0.1", "fe80::1%eth0", "2606:4700::1%1", "fc00::1", "fd00:ec2::254", "ff02::1", "::", "::1", "fec0::1", "100::1", "2001:db8::1", "3fff::1", "5f00::1",
		"0.0.0.0", "0.1.2.3", "10.255.255.255", "100.100.100.200", "127.8.8.8", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.168.1.1", "198.19.0.1", "203.0.113.9",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16",
	}, ownAddresses(t)...) {
		world, _ := withServers(t)
		world.names["example.com."] = []netip.Addr{netip.MustParseAddr(ip)}
		proxy, stop := world.serve(t, "example.com")
		for _, raw := range []string{connectTo("example.com:443"), getFrom("http://example.com/")} {
			if status, body := request(t, proxy, raw); status != 403 || !strings.Contains(body, "not public") {
				t.Errorf("%s: %d %q", ip, status, body)
			}
		}
		stop()
		if dialed, _, _ := world.reached(); len(dialed) != 0 {
			t.Errorf("%s: dialed %v", ip, dialed)
		}
	}
	for _, ip := range []string{"93.184.216.34", "::ffff:93.184.216.34", "2606:4700::6810:84e5", "64:ff9b::5db8:d822", "172.15.0.1", "172.32.0.1", "1.1.1.1", "100.128.0.1"} {
		if _, err := usable([]netip.Addr{netip.MustParseAddr(ip)}); err != nil {
			t.Errorf("%s: %v", ip, err)
		}
	}
}

func ownAddresses(t *testing.T) []string {
	t.Helper()
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, a := range own {
		all = append(all, netip.MustParsePrefix(a.String()).Addr().String())
	}
	return all
}

// TestPublicAddressOfThisMachineIsRefused: what listens on this machine is not the internet.
func TestPublicAddressOfThisMachineIsRefused(t *testing.T) {
	own := []net.Addr{&net.IPNet{IP: net.IPv4(93, 184, 216, 34), Mask: net.CIDRMask(24, 32)}}
	if !isOwn(web, own) || isOwn(unused, own) {
		t.Errorf("of %v: own %v, other %v", own, isOwn(web, own), isOwn(unused, own))
	}
}

// TestAnswersThatChangeLeadNowhere: the second answer of DNS is asked for and checked
// like the first, and one check is of one dial.
func TestAnswersThatChangeLeadNowhere(t *testing.T) {
	world, _ := withServers(t)
	proxy, _ := world.serve(t, "example.com")
	if status, body := request(t, proxy, getFrom("http://example.com/")); status != 200 {
		t.Fatalf("%d %q", status, body)
	}
	world.mu.Lock()
	world.names["example.com."] = []netip.Addr{private}
	world.mu.Unlock()
	// A connection of before may still be open; it leads where the check was.
	if status, body := request(t, proxy, connectTo("example.com:443")); status != 403 {
		t.Errorf("%d %q", status, body)
	}
	for _, to := range world.dialed {
		if to.Addr() != web {
			t.Errorf("%v was dialed", to)
		}
	}
}

// TestEndOfServeEndsTunnels: nothing is left of a command that has ended.
func TestEndOfServeEndsTunnels(t *testing.T) {
	world, roots := withServers(t)
	proxy, stop := world.serve(t, "example.com")
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	secure := openTunnel(t, conn, "example.com:443", &tls.Config{ServerName: "example.com", RootCAs: roots})
	if err := secure.Handshake(); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("the tunnel is open: %d, %v", n, err)
	}
}

// TestServeEndsWithItsListener: the sandbox closes what it has opened.
func TestServeEndsWithItsListener(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(context.Background(), l) }()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestConnectionsAreBounded: more than the bound wait, and get their turn.
func TestConnectionsAreBounded(t *testing.T) {
	world, _ := withServers(t)
	proxy, _ := world.serve(t, "example.com")
	var idle []net.Conn
	for range maxConnections {
		conn, err := net.Dial("tcp", proxy)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
		if _, err := io.WriteString(conn, getFrom("http://other.org/")[:10]); err != nil {
			t.Fatal(err)
		}
	}
	answered := make(chan int, 1)
	go func() {
		status, _ := request(t, proxy, getFrom("http://example.com/"))
		answered <- status
	}()
	for _, conn := range idle {
		_ = conn.Close()
	}
	if status := <-answered; status != 200 {
		t.Errorf("status %d", status)
	}
}

// TestLargeHeadersAreRefused: the proxy does not hold what a client sends without end.
func TestLargeHeadersAreRefused(t *testing.T) {
	world, _ := withServers(t)
	proxy, _ := world.serve(t, "example.com")
	raw := "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nX: " + strings.Repeat("x", maxHeaderBytes+8<<10) + "\r\n\r\n"
	if status, body := request(t, proxy, raw); status != 431 {
		t.Errorf("%d %q", status, body)
	}
}

// TestRefusalsAreReportedOnce: a command in a loop does not fill a log.
func TestRefusalsAreReportedOnce(t *testing.T) {
	world, _ := withServers(t)
	proxy, stop := world.serve(t, "example.com")
	for range 3 {
		_, _ = request(t, proxy, connectTo("other.org:443"))
	}
	for i := range maxRefusals + 20 {
		_, _ = request(t, proxy, connectTo(fmt.Sprintf("other%d.org:443", i)))
	}
	stop()
	_, _, refused := world.reached()
	if len(refused) != maxRefusals {
		t.Fatalf("%d reports, want %d", len(refused), maxRefusals)
	}
	want := Refusal{"other.org:443", "the domain is not allowed", `an operator can add "other.org" to plugins.shell.sandbox.domains`}
	if refused[0] != want {
		t.Errorf("got %+v, want %+v", refused[0], want)
	}
}
