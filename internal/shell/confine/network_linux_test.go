package confine_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/confine"
	"github.com/quoinhq/quoin/internal/shell/egress"
	"github.com/quoinhq/quoin/internal/shell/execution"
)

// request is a line of bash that asks the proxy for an address and writes the answer.
const request = `exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' >&3 && cat <&3`

// withProxy is a sandbox with one domain, which stands for a server on loopback.
func withProxy(t *testing.T) (*confine.Launcher, string) {
	t.Helper()
	if _, err := os.Stat("/bin/bash"); err != nil {
		t.Skip("the requests are made by bash: ", err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "the server got %s of %s", r.URL.Path, r.Host)
	}))
	t.Cleanup(server.Close)
	public := netip.MustParseAddr("93.184.216.34")
	proxy, err := egress.New(egress.Config{
		Domains: []string{"example.org"},
		Lookup:  func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{public}, nil },
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			if to != netip.AddrPortFrom(public, 80) {
				return nil, errors.New("another address")
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return launcher(t, func(o *confine.Options) {
		o.Proxy = func(l net.Listener) error { return proxy.Serve(t.Context(), l) }
	})
}

// runOnline runs a line of bash with or without the network.
func runOnline(t *testing.T, l *confine.Launcher, work, line string, network bool) (string, execution.Exit) {
	t.Helper()
	p := start(t, l, execution.Command{Argv: []string{"/bin/bash", "-c", line}, Dir: work, Env: []string{"PATH=/usr/bin:/bin", "HTTP_PROXY=http://evil.example"}, Network: network})
	if err := p.CloseInput(); err != nil {
		t.Fatal(err)
	}
	return finish(t, p)
}

// TestNetworkIsTheProxyAlone: a command reaches the domains of the list through the
// proxy, and nothing else.
func TestNetworkIsTheProxyAlone(t *testing.T) {
	l, work := withProxy(t)
	host, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	for line, want := range map[string]string{
		fmt.Sprintf(request, "http://example.org/a"):                                        "the server got /a of example.org",
		fmt.Sprintf(request, "http://other.org/"):                                           "403 Forbidden",
		fmt.Sprintf(request, "http://169.254.169.254/"):                                     "403 Forbidden",
		fmt.Sprintf(request, "http://"+host.Addr().String()):                                "403 Forbidden",
		"echo $HTTP_PROXY $https_proxy":                                                     "http://127.0.0.1:3128 http://127.0.0.1:3128\n",
		": </dev/tcp/93.184.216.34/80 || echo no":                                           "no\n",
		": </dev/udp/8.8.8.8/53 && echo x >/dev/udp/8.8.8.8/53 || echo no":                  "no\n",
		": </dev/tcp/" + strings.Replace(host.Addr().String(), ":", "/", 1) + " || echo no": "no\n",
	} {
		if out, _ := runOnline(t, l, work, line, true); !strings.Contains(out, want) {
			t.Errorf("%s: %q, want %q", line, out, want)
		}
	}
}

// TestNoNetworkWithoutIt: without Network there is no proxy either.
func TestNoNetworkWithoutIt(t *testing.T) {
	l, work := withProxy(t)
	out, _ := runOnline(t, l, work, fmt.Sprintf(request, "http://example.org/a")+" || echo no $http_proxy", false)
	if !strings.HasSuffix(out, "no\n") || strings.Contains(out, "the server") {
		t.Errorf("%q", out)
	}
}

// TestEndOfCommandEndsProxy: what is left of a command cannot use the network.
func TestEndOfCommandEndsProxy(t *testing.T) {
	ended := make(chan error, 1)
	l, work := launcher(t, func(o *confine.Options) {
		o.Proxy = func(l net.Listener) error {
			p, err := egress.New(egress.Config{})
			if err == nil {
				err = p.Serve(context.Background(), l)
			}
			ended <- err
			return err
		}
	})
	if out, exit := runOnline(t, l, work, "echo x", true); exit.Code != 0 {
		t.Fatalf("%q %+v", out, exit)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
