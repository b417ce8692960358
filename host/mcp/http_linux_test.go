package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/internal/hosttest"
)

// serveHTTP serves an SDK server over streamable HTTP until the test ends.
func serveHTTP(t *testing.T, s *sdk.Server, around func(http.Handler) http.Handler) string {
	t.Helper()
	var h http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	if around != nil {
		h = around(h)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		for session := range s.Sessions() {
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return server.URL
}

func TestToolsOverHTTP(t *testing.T) {
	t.Parallel()
	url := serveHTTP(t, goodServer("net"), nil)
	w := connect(t, Options{}, Server{Name: "net", URL: url, Pin: PinWarn})
	out := w.call(t, "net", "echo", `{"text":"hi"}`)
	if got := fmt.Sprint(out["structuredContent"]); got != "map[label:net text:hi]" {
		t.Errorf("got %s", got)
	}
	if out := w.call(t, "net", "resources_read", `{"uri":"memo://one"}`); !strings.Contains(fmt.Sprint(out), "the memo") {
		t.Errorf("got %v", out)
	}
	w.call(t, "net", "grow", `{"text":"novelty"}`)
	w.until(t, func() bool { return w.has("novelty") })
}

// TestHeaders: credentials go with every request, and expand from the environment.
func TestHeaders(t *testing.T) {
	hosttest.Serial(t, "sets a variable of the process")
	t.Setenv("QUOIN_TEST_TOKEN", "t0ken")
	url := serveHTTP(t, goodServer("net"), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer t0ken" {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	with := Server{Name: "with", URL: url, Headers: map[string]string{"Authorization": "Bearer ${QUOIN_TEST_TOKEN}"}}
	w := connect(t, Options{FirstDelay: time.Hour}, with, Server{Name: "without", URL: url})
	w.call(t, "with", "echo", `{}`)
	if st := w.Status()[1]; st.State != StateDown || !strings.Contains(fmt.Sprint(st.Error), "Unauthorized") {
		t.Errorf("without a header: %+v", st)
	}
}

// TestRedirectsAreNotFollowed: credentials reach no other address.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer other.Close()
	here := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer here.Close()
	w := connect(t, Options{FirstDelay: time.Hour}, Server{Name: "net", URL: here.URL, Headers: map[string]string{"X-Key": "secret"}})
	if st := w.Status()[0]; st.State != StateDown || !strings.Contains(fmt.Sprint(st.Error), "is not followed") {
		t.Errorf("status %+v", st)
	}
	if reached.Load() {
		t.Error("the other address was asked")
	}
}

// badHTTP serves badHandler until the test ends.
func badHTTP(t *testing.T, call func(w http.ResponseWriter, r *http.Request, q request)) string {
	t.Helper()
	server := httptest.NewServer(badHandler(call))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// badHandler answers the handshake of a stateless server with JSON, and leaves calls
// to the test.
func badHandler(call func(w http.ResponseWriter, r *http.Request, q request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var q request
		if err != nil || r.Method != http.MethodPost || json.Unmarshal(body, &q) != nil {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		switch q.Method {
		case "initialize":
			answer(w, q, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bad","version":"0"}}`)
		case "tools/list":
			answer(w, q, oneTool)
		case "server/discover":
			http.Error(w, "what?", http.StatusBadRequest)
		case "tools/call":
			call(w, r, q)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}
}

func answer(w http.ResponseWriter, q request, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, result)
}

// TestRepliesOverHTTP: what is not an answer rejects its call.
func TestRepliesOverHTTP(t *testing.T) {
	t.Parallel()
	events := func(w http.ResponseWriter, format string, args ...any) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, format, args...)
	}
	for name, c := range map[string]struct {
		code Code
		call func(w http.ResponseWriter, r *http.Request, q request)
	}{
		"large JSON": {CodeReplyTooLarge, func(w http.ResponseWriter, _ *http.Request, q request) {
			answer(w, q, `{"content":[{"type":"text","text":"`+strings.Repeat("x", 9<<20)+`"}]}`)
		}},
		"deep JSON": {CodeInvalidReply, func(w http.ResponseWriter, _ *http.Request, q request) {
			answer(w, q, `{"content":`+strings.Repeat("[", 500)+strings.Repeat("]", 500)+`}`)
		}},
		"large event": {CodeReplyTooLarge, func(w http.ResponseWriter, _ *http.Request, q request) {
			events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":%q}]}}\n\n", q.ID, strings.Repeat("x", 9<<20))
		}},
		"endless line": {CodeReplyTooLarge, func(w http.ResponseWriter, r *http.Request, _ request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}},
		"deep event": {CodeInvalidReply, func(w http.ResponseWriter, _ *http.Request, q request) {
			events(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":%s%s}}\n\n", q.ID, strings.Repeat("[", 500), strings.Repeat("]", 500))
		}},
		"hanging up": {CodeClosed, func(http.ResponseWriter, *http.Request, request) { panic(http.ErrAbortHandler) }},
		"no answer":  {CodeClosed, func(w http.ResponseWriter, _ *http.Request, _ request) { events(w, ": nothing\n\n") }},
		"refusal": {CodeRefused, func(w http.ResponseWriter, _ *http.Request, q request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"wrong"}}`, q.ID)
		}},
		"overload": {CodeStatus, func(w http.ResponseWriter, _ *http.Request, _ request) {
			http.Error(w, strings.Repeat("x", 1<<20), http.StatusServiceUnavailable)
		}},
		"brotli": {CodeClosed, func(w http.ResponseWriter, r *http.Request, q request) {
			if got := r.Header.Get("Accept-Encoding"); got != "identity" {
				t.Errorf("it was asked for %q", got)
			}
			w.Header().Set("Content-Encoding", "br")
			answer(w, q, "...")
		}},
		"page": {CodeInvalidReply, func(w http.ResponseWriter, _ *http.Request, _ request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := connect(t, Options{FirstDelay: time.Hour}, Server{Name: "bad", URL: badHTTP(t, c.call)})
			e := w.refuse(t, t.Context(), "bad", "t", `{}`)
			if e.Code != c.code || e.Unknown == (c.code == CodeRefused || c.code == CodeStatus) {
				t.Errorf("%+v", e)
			}
			if !w.has("t") {
				t.Errorf("status %+v", w.Status()[0])
			}
		})
	}
}

// TestResultsOverHTTPAreRaw, as JSON and as events.
func TestResultsOverHTTPAreRaw(t *testing.T) {
	t.Parallel()
	const novel = `{"content":[{"type":"hologram","z":1,"a":2}],"extra":true}`
	for name, call := range map[string]func(w http.ResponseWriter, r *http.Request, q request){
		"json": func(w http.ResponseWriter, _ *http.Request, q request) { answer(w, q, novel) },
		"events": func(w http.ResponseWriter, _ *http.Request, q request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "id: 1\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":%s,\"result\":%s}\r\n\r\n", q.ID, novel)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := connect(t, Options{}, Server{Name: "net", URL: badHTTP(t, call)})
			raw, err := w.Call(t.Context(), Request{Server: "net", Tool: "t", Input: json.RawMessage(`{}`)})
			if err != nil || string(raw) != novel {
				t.Errorf("got %s, %v", raw, err)
			}
		})
	}
}

// TestCancellationOverHTTP: a server that never answers delays no other call.
func TestCancellationOverHTTP(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	url := badHTTP(t, func(_ http.ResponseWriter, r *http.Request, _ request) {
		close(entered)
		<-r.Context().Done()
	})
	w := connect(t, Options{}, Server{Name: "net", URL: url})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan *Error)
	go func() { done <- w.refuse(t, ctx, "net", "t", `{}`) }()
	<-entered
	cancel()
	if e := <-done; e.Code != CodeCancelled || !e.Unknown {
		t.Errorf("%+v", e)
	}
}

// TestAServerThatForgetsItsSessions is connected again.
func TestAServerThatForgetsItsSessions(t *testing.T) {
	t.Parallel()
	var forget atomic.Bool
	url := serveHTTP(t, legacy(goodServer("net")), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Session-Id") != "" && forget.CompareAndSwap(true, false) {
				http.NotFound(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	w := connect(t, Options{}, Server{Name: "net", URL: url})
	w.call(t, "net", "echo", `{}`)
	forget.Store(true)
	w.call(t, "net", "echo", `{}`)
	if forget.Load() {
		t.Error("the session was not forgotten")
	}
}

// legacy makes a server refuse the newest protocol, so that it has sessions.
func legacy(s *sdk.Server) *sdk.Server {
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if method == "server/discover" {
				return nil, fmt.Errorf("no such method")
			}
			return next(ctx, method, r)
		}
	})
	return s
}

// TestAServerThatIsSilentAtDiscover is asked in the older way, as if it were asked that alone.
func TestAServerThatIsSilentAtDiscover(t *testing.T) {
	t.Parallel()
	good := badHandler(func(w http.ResponseWriter, _ *http.Request, q request) { answer(w, q, `{"content":[]}`) })
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is no request is refused
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		switch version := r.Header.Get("Mcp-Protocol-Version"); {
		case strings.Contains(string(body), methodDiscover):
			<-r.Context().Done()
		case version != "" && version != "2025-06-18":
			http.Error(w, "unsupported version "+version, http.StatusBadRequest)
		default:
			good(w, r)
		}
	}))
	o := impatient()
	o.FirstDelay = time.Hour
	w := connect(t, o, Server{Name: "f", URL: url})
	w.call(t, "f", "t", `{}`)
}
