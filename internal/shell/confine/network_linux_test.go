package confine_test

import (
	"context"
	"io"
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

// fetchArgument marks the test binary as a program that fetches a page; its address
// follows.
const fetchArgument = "sandbox-fetch"

func beFetcher(address string) {
	resp, err := http.Get(address)
	if err != nil {
		os.Stdout.WriteString("error: " + err.Error())
		os.Exit(1)
	}
	_, _ = io.Copy(os.Stdout, resp.Body)
	os.Exit(resp.StatusCode / 100)
}

// TestTheNetworkIsTheProxy: a command reaches what the proxy lets pass, if it may use the
// network, and nothing else.
func TestTheNetworkIsTheProxy(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "the page of "+r.Host)
	}))
	t.Cleanup(site.Close)
	proxy, err := egress.New(egress.Config{
		Domains: []string{"site.example"},
		Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		},
		Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
			return net.Dial("tcp", site.Listener.Addr().String())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{}, 8)
	binary := self(t)
	with := func(o *confine.Options) {
		o.Read = []string{binary}
		o.Proxy = func(l net.Listener) error {
			defer func() { ended <- struct{}{} }()
			return proxy.Serve(context.Background(), l)
		}
	}
	without := func(o *confine.Options) { o.Read = []string{binary} }
	for name, c := range map[string]struct {
		change  func(*confine.Options)
		network bool
		address string
		want    string
		code    int
	}{
		"an allowed name":        {with, true, "http://site.example/", "the page of site.example", 2},
		"another name":           {with, true, "http://other.example/", "other.example", 4},
		"an address":             {with, true, site.URL, "refused", 1}, // NO_PROXY has the sandbox's own loopback
		"no network asked":       {with, false, "http://site.example/", "error: ", 1},
		"no network configured":  {without, true, "http://site.example/", "error: ", 1},
		"the proxy, not by name": {with, true, "http://127.0.0.1:3128/", "", 4},
	} {
		t.Run(name, func(t *testing.T) {
			l, work := launcher(t, c.change)
			p := start(t, l, execution.Command{Argv: []string{binary, fetchArgument, c.address}, Dir: work, Network: c.network,
				Env: []string{"HTTP_PROXY=http://192.0.2.1:1"}})
			out, exit := finish(t, p)
			if exit.Code != c.code || !strings.Contains(out, c.want) {
				t.Errorf("%+v %q", exit, out)
			}
			if c.network && name != "no network configured" {
				<-ended // the proxy ends with the command
			}
		})
	}
}

// TestTheLoopbackIsTheSandboxs: servers and clients of one command find each other, and
// servers and clients of two commands do not.
func TestTheLoopbackIsTheSandboxs(t *testing.T) {
	l, work := launcher(t, func(o *confine.Options) { o.Read = []string{self(t)} })
	const line = `"$0" sandbox-serve & for i in $(seq 1000); do "$0" sandbox-fetch http://127.0.0.1:8080/ && exit 1; [ $? = 4 ] && exit 0; done; exit 9`
	p := start(t, l, execution.Command{Argv: []string{"/bin/sh", "-c", line, self(t)}, Dir: work, Env: []string{"PATH=/usr/bin:/bin"}})
	if out, exit := finish(t, p); exit.Code != 0 {
		t.Errorf("%+v %s", exit, out)
	}
}

// serveArgument marks the test binary as a server on the loopback.
const serveArgument = "sandbox-serve"

func beServer() {
	panic(http.ListenAndServe("127.0.0.1:8080", http.NotFoundHandler()))
}
