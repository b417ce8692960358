package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// listen serves at an address until the returned function closes the server and every
// connection to it, as its death does.
func listen(t *testing.T, address string, h http.Handler) (at string, kill func()) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	kill = func() {
		// A process that another test is starting has the listener, too, until it executes.
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		kill()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr().String(), kill
}

// TestAnHTTPServerThatIsKilledInTheMiddleOfACall: the call rejects and the tools go
// because the server refuses connections, not because retries of a stream ran out. They
// come back with the server.
func TestAnHTTPServerThatIsKilledInTheMiddleOfACall(t *testing.T) {
	t.Parallel()
	start := func(w http.ResponseWriter, text string) {
		fmt.Fprint(w, text)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	}
	for name, begin := range map[string]func(w http.ResponseWriter){
		"before an answer": func(http.ResponseWriter) {},
		"in a JSON answer": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			start(w, `{"jsonrpc":`)
		},
		"in a stream": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			start(w, ": here it comes\n\n")
		},
		"in a stream that could be resumed": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			start(w, "id: 1\ndata: \n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			entered := make(chan struct{})
			h := badHandler(func(w http.ResponseWriter, r *http.Request, _ request) {
				begin(w)
				close(entered)
				<-r.Context().Done()
			})
			address, kill := listen(t, "127.0.0.1:0", h)
			w := connect(t, Options{FirstDelay: time.Hour}, Server{Name: "net", URL: "http://" + address})
			rejected := make(chan *Error, 1)
			go func() { rejected <- w.refuse(t, t.Context(), "net", "t", `{}`) }()
			<-entered
			kill()
			if e := <-rejected; e.Code != CodeClosed || !e.Unknown {
				t.Errorf("%+v", e)
			}
			w.until(t, func() bool { return !w.has("t") })
			if st := w.Status()[0]; !errors.Is(st.Error, unix.ECONNREFUSED) || !strings.Contains(st.Error.Error(), "takes no other") {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestAnHTTPServerThatComesBack is connected again.
func TestAnHTTPServerThatComesBack(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{}, 1)
	address, kill := listen(t, "127.0.0.1:0", badHandler(func(_ http.ResponseWriter, r *http.Request, _ request) {
		entered <- struct{}{}
		<-r.Context().Done()
	}))
	w := connect(t, Options{}, Server{Name: "net", URL: "http://" + address})
	rejected := make(chan *Error, 1)
	go func() { rejected <- w.refuse(t, t.Context(), "net", "t", `{}`) }()
	<-entered
	kill()
	if e := <-rejected; e.Code != CodeClosed || !e.Unknown {
		t.Errorf("%+v", e)
	}
	w.until(t, func() bool { return !w.has("t") })
	listen(t, address, badHandler(func(w http.ResponseWriter, _ *http.Request, q request) { answer(w, q, `{"content":[]}`) }))
	w.until(t, func() bool { return w.has("t") })
	w.call(t, "net", "t", `{}`)
}

// TestAServerBehindAProxyIsNotProbed: only the proxy has to reach it.
func TestAServerBehindAProxyIsNotProbed(t *testing.T) {
	t.Parallel()
	for url, address := range map[string]string{"http://h/mcp": "h:80", "https://h/mcp": "h:443", "https://[::1]:8443/": "[::1]:8443"} {
		r := httptest.NewRequest(http.MethodGet, url, nil)
		if got := hostPort(r.URL); got != address {
			t.Errorf("%s is at %s, want %s", url, got, address)
		}
		_, g := newClient(t.Context(), nil, defaultTimes.probeTimeout, func(err error) { t.Errorf("%s: %v", url, err) })
		g.base.Proxy = http.ProxyURL(r.URL)
		g.base.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, unix.ECONNREFUSED }
		if g.suspect(r); g.probing.Load() {
			t.Errorf("%s is probed", url)
		}
		g.base.Proxy = nil
		lost := make(chan error, 1)
		g.gone = func(err error) { lost <- err }
		if g.suspect(r); !errors.Is(<-lost, unix.ECONNREFUSED) {
			t.Errorf("%s is not probed", url)
		}
	}
}
