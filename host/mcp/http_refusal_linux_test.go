package mcp

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// forgetful is a server with sessions that forgets them when a test says so, and refuses an
// unknown one with a status and a body.
type forgetful struct {
	status   int
	body     string
	current  atomic.Int64 // the session
	calls    atomic.Int64 // that ran
	always   atomic.Bool  // refuse the calls and pings of every session
	requests atomic.Int64
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.requests.Add(1)
	body, err := io.ReadAll(r.Body)
	var q request
	if err != nil || r.Method != http.MethodPost || json.Unmarshal(body, &q) != nil {
		http.Error(w, "no", http.StatusMethodNotAllowed)
		return
	}
	known := r.Header.Get("Mcp-Session-Id") == fmt.Sprint(f.current.Load()) && (q.Method != "tools/call" && q.Method != "ping" || !f.always.Load())
	switch {
	case q.Method == methodDiscover:
		http.Error(w, "what?", http.StatusBadRequest)
	case q.Method == methodInitialize:
		w.Header().Set("Mcp-Session-Id", fmt.Sprint(f.current.Load()))
		answer(w, q, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"0"}}`)
	case !known:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.status)
		_, _ = io.WriteString(w, strings.Replace(f.body, "%s", string(q.ID), 1))
	case q.Method == "tools/list":
		answer(w, q, oneTool)
	case q.Method == "tools/call":
		f.calls.Add(1)
		answer(w, q, `{"content":[]}`)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// TestSessionsThatEnd: a call that the server refused because it forgot the session is made
// again over another session, once.
func TestSessionsThatEnd(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*forgetful{
		"404":               {status: 404, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`},
		"404 bare":          {status: 404},
		"400":               {status: 400, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`},
		"400 text":          {status: 400, body: "Invalid session"},
		"400 of TypeScript": {status: 400, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}`},
		"400 as input":      {status: 400, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Invalid session ID"}}`},
		"400 unknown":       {status: 400, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Unknown transport"}}`},
		"200":               {status: 200, body: `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"Invalid or expired session"}}`},
		"403":               {status: 403, body: "session expired"},
		"422":               {status: 422, body: "Unprocessable Entity: invalid session id"},
		"500":               {status: 500, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Session not found"}}`},
		"503":               {status: 503, body: `{"error":"Session not found, connect again"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(f)
			t.Cleanup(server.Close)
			w := connect(t, Options{MaxDelay: time.Hour, FirstDelay: time.Nanosecond}, Server{Name: "f", URL: server.URL})
			for i := range int64(3) { // each session lasts longer than FirstDelay
				f.current.Add(1) // as if the server had started again
				w.call(t, "f", "t", `{}`)
				if n := f.calls.Load(); n != i+1 {
					t.Fatalf("%d calls ran after %d", n, i+1)
				}
			}
			if !w.has("t") {
				t.Error("the tools are gone")
			}
			f.always.Store(true)
			e := w.refuse(t, t.Context(), "f", "t", `{}`)
			if e.Code != CodeClosed || e.Unknown || !e.Retryable || !strings.Contains(e.Message, "session has ended") || f.calls.Load() != 3 {
				t.Errorf("of a server that knows no session: %+v after %d calls", e, f.calls.Load())
			}
		})
	}
}

// TestInputsWithASession: a refusal in words about a session is no end of it, where the server
// answers a ping, or refuses that in other words.
func TestInputsWithASession(t *testing.T) {
	t.Parallel()
	for name, ping := range map[string]string{
		"answered":     `"result":{}`,
		"not offered":  `"error":{"code":-32601,"message":"no such method"}`,
		"other reason": `"error":{"code":-32602,"message":"session of what?"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var starts atomic.Int64
			inner := badHandler(func(w http.ResponseWriter, _ *http.Request, q request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"session_id is missing"}}`, q.ID)
			})
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body) // what is no request is refused
				r.Body = io.NopCloser(bytes.NewReader(body))
				var q request
				switch _ = json.Unmarshal(body, &q); q.Method {
				case "ping":
					w.Header().Set("Mcp-Session-Id", "another") // which is not taken
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, q.ID, ping)
					return
				case methodInitialize:
					starts.Add(1)
					w.Header().Set("Mcp-Session-Id", "s")
				}
				inner(w, r)
			}))
			w := connect(t, Options{FirstDelay: time.Hour}, Server{Name: "f", URL: url})
			for range 2 {
				if e := w.refuse(t, t.Context(), "f", "t", `{}`); e.Code != CodeRefused || !strings.Contains(e.Message, "session_id is missing") {
					t.Errorf("%+v", e)
				}
			}
			if n := starts.Load(); n != 1 {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

// TestRefusalsOfHTTP: a refusal keeps its status, a piece of its body, and when to try again;
// the connection stays.
func TestRefusalsOfHTTP(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status             int
		retry, body        string
		unknown, retryable bool
		code               Code
		details, says      string
	}{
		"429":      {429, "7", `{"error":"rate limited"}`, false, true, CodeStatus, `{"body":"{\"error\":\"rate limited\"}","retryAfterSeconds":7,"status":429}`, "try again after 7 s"},
		"503":      {503, "", "upstream connect error", false, true, CodeStatus, `{"body":"upstream connect error","status":503}`, "upstream connect error"},
		"502":      {502, "", "", true, false, CodeStatus, `{"body":"","status":502}`, "Bad Gateway"},
		"500":      {500, "", "oops", true, false, CodeStatus, `{"body":"oops","status":500}`, "oops"},
		"401":      {401, "", "who?", false, false, CodeStatus, `{"body":"who?","status":401}`, "HTTP status 401 Unauthorized"},
		"encoded":  {409, "", "", false, false, CodeStatus, `{"body":" (it is compressed with br, which was not asked for; let the server, or the proxy before it, send it as it is)","status":409}`, "HTTP status 409 Conflict: (it is compressed with br"},
		"413":      {413, "", "", false, false, CodeStatus, `{"body":"","status":413}`, "413"},
		"400 said": {400, "", `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"q is wrong","data":{"hint":"a string"}}}`, false, false, CodeRefused, `{"code":-32602,"data":{"hint":"a string"}}`, "q is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var refuse atomic.Bool
			refuse.Store(true)
			url := badHTTP(t, func(w http.ResponseWriter, _ *http.Request, q request) {
				if !refuse.Load() {
					answer(w, q, `{"content":[]}`)
					return
				}
				if name == "encoded" {
					w.Header().Set("Content-Encoding", "br")
				}
				if c.retry != "" {
					w.Header().Set("Retry-After", c.retry)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			w := connect(t, Options{FirstDelay: time.Hour}, Server{Name: "f", URL: url, Headers: map[string]string{"Authorization": "x"}})
			e := w.refuse(t, t.Context(), "f", "t", `{}`)
			if e.Code != c.code || e.Unknown != c.unknown || e.Retryable != c.retryable || string(e.Details) != c.details || !strings.Contains(e.Message, c.says) {
				t.Errorf("got %+v\ndetails %s", e, e.Details)
			}
			refuse.Store(false)
			w.call(t, "f", "t", `{}`)
		})
	}
}

// TestPermanentCauses: what waiting does not mend is told as such, with what helps.
func TestPermanentCauses(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	for name, c := range map[string]struct {
		handler    http.Handler
		says, told string
	}{
		"401":  {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) }), "Authorization", "credentials"},
		"403":  {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }), "HTTP status 403", "does not let"},
		"404":  {http.NotFoundHandler(), "check its url", "no MCP server"},
		"405":  {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(405) }), "check its url", "no MCP server"},
		"page": {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<!doctype html><p>hello") }), "text/html", "web page"},
		"older transport": {http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: endpoint\ndata: /messages?id=1\n\n")
			_ = http.NewResponseController(w).Flush() // the client may be gone
			<-r.Context().Done()
		}), "HTTP+SSE", "older transport"},
		"redirect": {http.RedirectHandler(other.URL+"/mcp", http.StatusPermanentRedirect), other.URL + "/mcp", "another address"},
		"moved":    {http.RedirectHandler("/login?token=secret", http.StatusFound), "/login, which", "another address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.handler)
			t.Cleanup(server.Close)
			w := connect(t, Options{FirstDelay: time.Hour}, Server{Name: "f", URL: server.URL, Headers: map[string]string{"Authorization": "x"}})
			st := w.Status()[0]
			if st.State != StateDown || st.Error == nil || !strings.Contains(st.Error.Error(), c.says) || !strings.Contains(st.Permanent, c.told) || strings.Contains(st.Error.Error(), "secret") {
				t.Errorf("down because of %v; told %q", st.Error, st.Permanent)
			}
			if e := w.refuse(t, t.Context(), "f", "t", `{}`); !strings.Contains(e.Message, st.Permanent) || e.Code != CodeUnavailable {
				t.Errorf("a call: %v", e)
			}
		})
	}
	w := connect(t, Options{FirstDelay: time.Hour}, Server{Name: "f", Command: "/nonexistent/program"})
	if st := w.Status()[0]; st.Permanent != "its program cannot be started" {
		t.Errorf("a program that is not there: %q", st.Permanent)
	}
	url := badHTTP(t, nil)
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "wait", http.StatusServiceUnavailable) }))
	t.Cleanup(busy.Close)
	w = connect(t, Options{FirstDelay: time.Hour}, Server{Name: "good", URL: url}, Server{Name: "busy", URL: busy.URL})
	for _, st := range w.Status() {
		if st.Permanent != "" {
			t.Errorf("%s: %q", st.Name, st.Permanent)
		}
	}
	if err := fmt.Sprint(w.Status()[0].Error); !strings.Contains(err, "HTTP status 503 Service Unavailable: wait") {
		t.Error(err)
	}
}

// TestRedirectWithinTheOrigin: a redirect that keeps the method is followed there.
func TestRedirectWithinTheOrigin(t *testing.T) {
	t.Parallel()
	h := badHandler(func(w http.ResponseWriter, r *http.Request, q request) {
		answer(w, q, fmt.Sprintf(`{"content":[],"key":%q}`, r.Header.Get("X-Key")))
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp/", h)
	mux.Handle("/mcp", http.RedirectHandler("/mcp/", http.StatusTemporaryRedirect))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w := connect(t, Options{FirstDelay: time.Hour}, Server{Name: "f", URL: server.URL + "/mcp", Headers: map[string]string{"X-Key": "k"}})
	if out := w.call(t, "f", "t", `{}`); out["key"] != "k" {
		t.Errorf("got %v", out)
	}
}

// TestBodiesAsTheyCome: compressed without being asked, with a byte order mark, as events with
// lines that end in a lone carriage return.
func TestBodiesAsTheyCome(t *testing.T) {
	t.Parallel()
	const reply = `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`
	for name, say := range map[string]func(w http.ResponseWriter, q request){
		"gzip": func(w http.ResponseWriter, q request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			fmt.Fprintf(z, reply, q.ID)
			_ = z.Close() // a buffer
			_, _ = w.Write(b.Bytes())
		},
		"deflate": func(w http.ResponseWriter, q request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "deflate")
			z := zlib.NewWriter(w)
			fmt.Fprintf(z, reply, q.ID)
			_ = z.Close() // the client may be gone
		},
		"deflate without its head": func(w http.ResponseWriter, q request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "deflate")
			z, _ := flate.NewWriter(w, flate.BestSpeed) // a level that there is
			fmt.Fprintf(z, reply, q.ID)
			_ = z.Close() // the client may be gone
		},
		"mark": func(w http.ResponseWriter, q request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, "\uFEFF"+reply, q.ID)
		},
		"lone CR": func(w http.ResponseWriter, q request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: message\rdata: "+reply+"\r\r", q.ID)
		},
		"CRLF": func(w http.ResponseWriter, q request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: message\r\ndata: "+reply+"\r\n\r\n", q.ID)
		},
		"text": func(w http.ResponseWriter, q request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprintf(w, reply, q.ID)
		},
		"no kind": func(w http.ResponseWriter, q request) {
			w.Header()["Content-Type"] = nil
			fmt.Fprintf(w, reply, q.ID)
		},
		"kind that cannot be read": func(w http.ResponseWriter, q request) {
			w.Header().Set("Content-Type", "application/json; charset")
			fmt.Fprintf(w, reply, q.ID)
		},
		"batch": func(w http.ResponseWriter, q request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},\n"+reply+"]", q.ID)
		},
		"batch as an event": func(w http.ResponseWriter, q request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: ["+reply+"]\n\n", q.ID)
		},
		"events that are no messages": func(w http.ResponseWriter, q request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: connected\n\nevent: ping\ndata: now\n\ndata: "+reply+"\n\ndata: [DONE]\n\n", q.ID)
		},
		"another name of events": func(w http.ResponseWriter, q request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: response\ndata: "+reply+"\n\n", q.ID)
		},
		"unfinished event": func(w http.ResponseWriter, q request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: "+reply, q.ID)
		},
		"mark before events": func(w http.ResponseWriter, q request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "\uFEFFdata: "+reply+"\n\n", q.ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := badHTTP(t, func(w http.ResponseWriter, _ *http.Request, q request) { say(w, q) })
			w := connect(t, Options{FirstDelay: time.Hour}, Server{Name: "f", URL: url})
			w.call(t, "f", "t", `{}`)
		})
	}
}

// TestRetryAfter reads seconds and dates.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]int{"3": 3, "1.5": 2, "0.0001": 1, " 0 ": 0, "999999999": 86400, "Wed, 21 Oct 2015 07:28:00 GMT": 0, "Fri, 01 Jan 2300 00:00:00 GMT": 86400} {
		if got, ok := retrySeconds(header); !ok || got != want {
			t.Errorf("%q: %d, %v", header, got, ok)
		}
	}
	if got := retryAfter(http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {"1500"}}); got != "1.5" {
		t.Errorf("milliseconds: %s", got)
	}
	for _, header := range []string{"", "-1", "soon", "NaN"} {
		if got, ok := retrySeconds(header); ok {
			t.Errorf("%q: %d", header, got)
		}
	}
}

// serve serves until the test ends, and returns the address.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}
