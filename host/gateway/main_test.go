package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/internal/hosttest"
)

func TestMain(m *testing.M) {
	hosttest.Main(m)
}

var (
	me    = host.Session{AgentID: "agent", SessionKey: "key", SessionID: "session", TurnID: "turn"}
	quiet = slog.New(slog.NewTextHandler(io.Discard, nil))
)

// newHost returns a host that is closed when the test ends.
func newHost(t testing.TB, cfg host.Config) *host.Host {
	t.Helper()
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Guests.Path = guest
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	h, err := host.New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return h
}

// caller sends requests to a server and holds every answer against the document.
type caller struct {
	t       testing.TB
	base    string
	session host.Session
	token   string
	client  *http.Client
}

// serve starts a server on a listener of its own, or on l.
func serve(t testing.TB, h *host.Host, o gateway.Options, l net.Listener) *caller {
	t.Helper()
	if o.Logger == nil {
		o.Logger = quiet
	}
	s, err := gateway.New(h, o)
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, s, l, o.Token)
}

func serveOn(t testing.TB, s *gateway.Server, l net.Listener, token string) *caller {
	t.Helper()
	if l == nil {
		l = listen(t)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &caller{t: t, base: "http://" + l.Addr().String(), session: me, token: token, client: &http.Client{Transport: transport}}
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// answer is one response, read whole.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// request makes a request of the caller's session.
func (c *caller) request(ctx context.Context, method, path, body string) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	gateway.SetSession(r.Header, c.session)
	return r
}

// send sends a request and requires that the answer is as documented.
func (c *caller) send(r *http.Request) *answer {
	c.t.Helper()
	resp, err := c.client.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := described(r, resp, b); err != nil {
		c.t.Errorf("%s %s: %v\n%s", r.Method, r.URL.Path, err, b)
	}
	return &answer{c.t, resp.StatusCode, resp.Header, b}
}

func (c *caller) post(path string, body any) *answer {
	c.t.Helper()
	text, ok := body.(string)
	if !ok {
		b, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		text = string(b)
	}
	return c.send(c.request(context.Background(), http.MethodPost, path, text))
}

func (c *caller) get(path string) *answer {
	c.t.Helper()
	return c.send(c.request(context.Background(), http.MethodGet, path, ""))
}

func (c *caller) delete(path string) *answer {
	c.t.Helper()
	return c.send(c.request(context.Background(), http.MethodDelete, path, ""))
}

func (c *caller) exec(code string) *answer {
	c.t.Helper()
	return c.post("/v1/exec", map[string]any{"code": code})
}

func (c *caller) wait(runID string) *answer {
	c.t.Helper()
	return c.post("/v1/wait", map[string]any{"runId": runID})
}

// asks runs a cell until it waits for a person, and returns its run.
func (c *caller) asks(code string) (runID string) {
	c.t.Helper()
	a := c.post("/v1/exec", map[string]any{"code": code, "waitMs": 100})
	for string(a.member("reason")) == `"pending_tools"` { // the call has not asked yet
		a = c.post("/v1/wait", map[string]any{"runId": a.text("runId"), "waitMs": 100})
	}
	return a.wants(200, "status", `"waiting"`, "reason", `"approval"`).text("runId")
}

// as is the caller in another session.
func (c *caller) as(s host.Session) *caller {
	d := *c
	d.session = s
	return &d
}

// wants requires members of a JSON answer: name and JSON text in turns.
func (a *answer) wants(status int, pairs ...string) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d\n%s", a.status, status, a.body)
	}
	for i := 0; i < len(pairs); i += 2 {
		if got := string(a.member(pairs[i])); got != pairs[i+1] {
			a.t.Fatalf("%s is %s, want %s\n%s", pairs[i], got, pairs[i+1], a.body)
		}
	}
	return a
}

// problem requires a problem of that code.
func (a *answer) problem(status int, code gateway.ProblemCode) *answer {
	a.t.Helper()
	return a.wants(status, "code", fmt.Sprintf("%q", code), "type", fmt.Sprintf("%q", "urn:quoin:problem:"+code))
}

func (a *answer) member(name string) json.RawMessage {
	a.t.Helper()
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(a.body, &doc); err != nil {
		a.t.Fatalf("%v\n%s", err, a.body)
	}
	return doc[name]
}

func (a *answer) text(name string) string {
	a.t.Helper()
	var s string
	if err := json.Unmarshal(a.member(name), &s); err != nil {
		a.t.Fatalf("%s: %v\n%s", name, err, a.body)
	}
	return s
}

// gate is a tool that blocks until it is opened.
type gate struct {
	entered chan catalog.Invocation
	open    chan struct{}
	ended   chan error // what the call's context said when it was cut off
}

func newGate() *gate {
	return &gate{entered: make(chan catalog.Invocation, 100), open: make(chan struct{}), ended: make(chan error, 100)}
}

func (g *gate) tool(name string) catalog.Tool {
	return catalog.Tool{
		Name:        name,
		Description: "Waits until it is let go.",
		Parameters:  json.RawMessage(`{"type":"object"}`),
		Examples:    []catalog.Example{{Input: json.RawMessage(`{}`), Output: json.RawMessage(`"through"`)}},
		Invoke: func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
			g.entered <- c
			select {
			case <-g.open:
				return json.RawMessage(`"through"`), nil
			case <-ctx.Done():
				g.ended <- context.Cause(ctx)
				return nil, ctx.Err()
			}
		},
	}
}

// lines takes the lines of a log.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// await returns once a line with part in it has been written.
func (l lines) await(part string) {
	for !strings.Contains(<-l, part) {
	}
}

// unserved returns a server without an address.
func unserved(t testing.TB) *gateway.Server {
	t.Helper()
	s, err := gateway.New(newHost(t, host.Config{}), gateway.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func debugLogger(l lines) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func idempotent(t catalog.Tool) catalog.Tool {
	t.Idempotent = true
	return t
}

func errorsJoinClose(resp *http.Response) error {
	return errors.Join(errors.New(resp.Status), resp.Body.Close())
}
