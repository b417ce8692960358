package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/gateway"
)

const secret = "correct-horse-battery-staple"

func TestToken(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{Token: secret}, nil)
	c.exec(`return 1`).wants(200, "value", "1")
	for name, header := range map[string][]string{
		"none":   nil,
		"wrong":  {"Bearer correct-horse-battery-stapl3"},
		"short":  {"Bearer correct"},
		"empty":  {"Bearer "},
		"scheme": {"Basic " + secret},
		"bare":   {secret},
		"twice":  {"Bearer " + secret, "Bearer " + secret},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/v1/catalog", "/no/such/path"} {
				r := c.request(context.Background(), http.MethodGet, path, "")
				r.Header["Authorization"] = header
				resp, err := c.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err = errors.Join(err, resp.Body.Close()); err != nil {
					t.Fatal(err)
				}
				if resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") == "" || strings.Contains(string(body), secret) {
					t.Errorf("%s: %s\n%s", path, resp.Status, body)
				}
			}
		})
	}
	r := c.request(context.Background(), http.MethodGet, "/v1/catalog", "")
	r.Header.Set("Authorization", "bearer  "+secret)
	c.send(r).wants(200)
	c.token = ""
	c.get("/v1/plugins").problem(401, gateway.ProblemUnauthorized)
	c.get("/healthz").wants(200, "status", `"ok"`)
	c.get("/openapi.json").wants(200)
}

func TestReadToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if got, err := gateway.ReadToken(file("good", "\n"+secret+"\n", 0o600)); err != nil || got != secret {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := gateway.ReadToken(file("marked", "\ufeff"+secret+"\r\n", 0o600)); err != nil || got != secret {
		t.Errorf("got %q, %v", got, err)
	}
	bad := map[string]string{
		file("short", "short", 0o600):                   "5 characters",
		file("long", strings.Repeat("x", 4097), 0o600):  "4097 characters",
		file("words", "two words that are long", 0o600): "not visible ASCII",
		filepath.Join(dir, "absent"):                    "no such file",
		dir:                                             "not a regular file",
	}
	if runtime.GOOS != "windows" {
		bad[file("readable", secret, 0o640)] = "chmod 600 " + filepath.Join(dir, "readable")
		bad[file("t o k", secret, 0o640)] = "chmod 600 '" + filepath.Join(dir, "t o k") + "'"
		bad[file("writable", secret, 0o602)] = "mode 0602"
	}
	if os.Geteuid() == 0 {
		const another = 1234
		path := file("another's", secret, 0o600)
		if err := os.Chown(path, another, -1); err != nil {
			t.Fatal(err)
		}
		bad[path] = "belongs to user 1234"
	}
	for path, want := range bad {
		if got, err := gateway.ReadToken(path); err == nil || got != "" || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %q, %v; want an error with %q", path, got, err, want)
		}
	}
}

// afar makes connections look as if they arrived at an address of the network.
type afar struct{ net.Listener }

type afarConn struct{ net.Conn }

var network = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}

func (l afar) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return afarConn{c}, nil
}
func (afarConn) LocalAddr() net.Addr { return network }

// wide is a listener that says it listens everywhere.
type wide struct{ net.Listener }

func (wide) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 80} }

func TestBeyondLoopback(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	t.Run("without a token it does not start", func(t *testing.T) {
		s, err := gateway.New(h, gateway.Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Serve(wide{listen(t)}); !errors.Is(err, gateway.ErrExposed) {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Run("without a token it does not answer", func(t *testing.T) {
		c := serve(t, h, gateway.Options{}, afar{listen(t)})
		for _, path := range []string{"/v1/catalog", "/healthz", "/nothing"} {
			if a := c.get(path); path != "/nothing" {
				a.problem(403, gateway.ProblemForbiddenAddress)
			}
		}
	})
	t.Run("the session is required", func(t *testing.T) {
		for name, l := range map[string]net.Listener{"from afar": afar{listen(t)}, "when exposed": wide{listen(t)}} {
			t.Run(name, func(t *testing.T) {
				base := l.Addr().String()
				if w, ok := l.(wide); ok {
					base = w.Listener.Addr().String()
				}
				c := serve(t, h, gateway.Options{Token: secret}, l)
				c.base = "http://" + base
				c.exec(`return 1`).wants(200, "value", "1")
				nobody := c.as(host.Session{AgentID: "agent"})
				nobody.exec(`return 1`).problem(400, gateway.ProblemInvalidRequest)
				nobody.wait("run_1").problem(400, gateway.ProblemInvalidRequest)
				nobody.post("/v1/abort", `{"runId": "run_1"}`).problem(400, gateway.ProblemInvalidRequest)
				nobody.get("/v1/catalog").problem(400, gateway.ProblemInvalidRequest)
				nobody.get("/v1/namespaces").problem(400, gateway.ProblemInvalidRequest)
				nobody.get("/v1/plugins").wants(200)
				c.as(host.Session{SessionKey: "k"}).exec(`return 1`).wants(200)
				c.token = ""
				c.exec(`return 1`).problem(401, gateway.ProblemUnauthorized)
			})
		}
	})
	t.Run("without a connection", func(t *testing.T) {
		// A request from an unknown address counts as one from afar.
		s := unserved(t)
		c := serve(t, h, gateway.Options{}, nil)
		rec := &recorder{header: http.Header{}}
		s.ServeHTTP(rec, c.request(context.Background(), http.MethodGet, "/v1/catalog", ""))
		if rec.status != 403 {
			t.Errorf("status %d", rec.status)
		}
	})
}

type recorder struct {
	header http.Header
	status int
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(s int)           { r.status = s }
func (r *recorder) Write(b []byte) (int, error) { return len(b), nil }

func TestHost(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	c := serve(t, h, gateway.Options{Hosts: []string{"Quoin.Example."}}, nil)
	for name, status := range map[string]int{
		"localhost": 200, "LOCALHOST.:80": 200, "127.0.0.1": 200, "127.9.9.9:1": 200, "[::1]:80": 200, "[::1]": 200,
		"quoin.example": 200, "quoin.example:443": 200,
		"evil.example": 403, "localhost.evil.example": 403, "192.0.2.1": 403, "0.0.0.0": 403, "127.0.0.1.evil.example": 403, "x.quoin.example": 403,
	} {
		r := c.request(context.Background(), http.MethodGet, "/v1/catalog", "")
		r.Host = name
		if a := c.send(r); a.status != status {
			t.Errorf("host %s: %d, want %d", name, a.status, status)
		} else if status == 403 {
			a.problem(403, gateway.ProblemForbiddenHost)
		}
	}
	// With a token and no names, any name will do from afar; with names, only those.
	for _, test := range []struct {
		hosts  []string
		status int
	}{{nil, 200}, {[]string{"quoin.example"}, 403}} {
		far := serve(t, h, gateway.Options{Token: secret, Hosts: test.hosts}, afar{listen(t)})
		r := far.request(context.Background(), http.MethodGet, "/v1/catalog", "")
		r.Host = "whatever.example"
		far.send(r).wants(test.status)
	}
}

func TestWebPagesAreRefused(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{}, nil)
	body := `{"code": "return 1"}`
	for _, header := range []http.Header{
		{"Origin": {"https://evil.example"}},
		{"Origin": {"null"}},
		{"Sec-Fetch-Site": {"cross-site"}},
		{"Sec-Fetch-Site": {"same-site"}},
	} {
		r := c.request(context.Background(), http.MethodPost, "/v1/exec", body)
		for k, v := range header {
			r.Header[k] = v
		}
		c.send(r).problem(403, gateway.ProblemCrossOrigin)
		r = c.request(context.Background(), http.MethodGet, "/v1/approvals", "")
		for k, v := range header {
			r.Header[k] = v
		}
		c.send(r).problem(403, gateway.ProblemCrossOrigin)
	}
	// What a form can send without asking first.
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/json; charset=latin1", "application/jsonp"} {
		r := c.request(context.Background(), http.MethodPost, "/v1/exec", body)
		r.Header["Content-Type"] = []string{media}
		c.send(r).problem(415, gateway.ProblemMediaType)
	}
	r := c.request(context.Background(), http.MethodPost, "/v1/exec", body)
	r.Header.Set("Content-Encoding", "gzip")
	c.send(r).problem(415, gateway.ProblemMediaType)
	r = c.request(context.Background(), http.MethodPost, "/v1/exec", body)
	r.Header.Set("Content-Type", `application/json; charset="UTF-8"`)
	c.send(r).wants(200, "value", "1")
	// A preflight gets no leave.
	r = c.request(context.Background(), http.MethodOptions, "/v1/exec", "")
	r.Header.Set("Origin", "https://evil.example")
	r.Header.Set("Access-Control-Request-Method", "POST")
	resp, err := c.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 405 {
		t.Errorf("preflight: %s", resp.Status)
	}
	for name := range resp.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("preflight got %s", name)
		}
	}
}

func TestPathsAndMethods(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{}, nil)
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/exec/", "//v1/exec", "/v1/../v1/catalog", "/v1/catalog/", "/v1/catalog/a/b", "/V1/exec", "/v1/nope"} {
		c.get(path).problem(404, gateway.ProblemNotFound)
	}
	for path, method := range map[string]string{"/v1/exec": "GET", "/v1/catalog": "POST", "/healthz": "DELETE", "/v1/wait": "PUT"} {
		a := c.send(c.request(context.Background(), method, path, "")).problem(405, gateway.ProblemMethod)
		if a.header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", method, path)
		}
	}
	r := c.request(context.Background(), http.MethodHead, "/v1/catalog", "")
	if a := c.send(r).wants(200); len(a.body) > 0 {
		t.Errorf("HEAD got a body: %s", a.body)
	}
	for _, query := range []string{"?x=1", "?state=all"} {
		c.get("/v1/catalog"+query).problem(400, gateway.ProblemInvalidRequest)
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{MaxBody: 1000}, nil)
	for name, test := range map[string]struct{ body, field, expected string }{
		"empty":         {"", "body", "a JSON object"},
		"not JSON":      {"code", "body", "a JSON object"},
		"array":         {`[1]`, "body", "a JSON object"},
		"null":          {`null`, "body", "a JSON object"},
		"cut":           {`{"code": "ret`, "body", "a JSON object"},
		"cut later":     {`{"code": "return 1"`, "body", "a JSON object"},
		"two":           {`{"code": "return 1"}{}`, "body", "one JSON object"},
		"not UTF-8":     {"{\"code\": \"\xff\"}", "body", "UTF-8"},
		"twice":         {`{"code": "1", "code": "2"}`, "code", "once"},
		"unknown":       {`{"code": "1", "Code": "2"}`, "Code", "code, command"},
		"number":        {`{"code": 1}`, "code", "a string"},
		"half a pair":   {`{"code": "return '\ud83d'"}`, "code", "a string of whole characters"},
		"object":        {`{"code": {}}`, "code", "a string"},
		"language":      {`{"code": "1", "language": ["typescript"]}`, "language", "a string"},
		"time text":     {`{"code": "1", "timeoutMs": "5s"}`, "timeoutMs", "from 1 to 86400000"},
		"time zero":     {`{"code": "1", "timeoutMs": 0}`, "timeoutMs", "from 1"},
		"time fraction": {`{"code": "1", "timeoutMs": 1.5}`, "timeoutMs", "whole number"},
		"time huge":     {`{"code": "1", "timeoutMs": 1e99}`, "timeoutMs", "from 1"},
	} {
		t.Run(name, func(t *testing.T) {
			c := *c
			c.t = t
			a := c.post("/v1/exec", test.body).problem(400, gateway.ProblemInvalidRequest)
			if got := string(a.member("errors")); !strings.Contains(got, fmt.Sprintf("%q", test.field)) || !strings.Contains(got, test.expected) {
				t.Errorf("errors: %s", got)
			}
		})
	}
	c.post("/v1/exec", "\ufeff"+`{"code": "return 1"}`).wants(200, "value", "1") // as PowerShell writes a file
	c.post("/v1/exec", `{"code": "`+strings.Repeat("x", 1000)+`"}`).problem(413, gateway.ProblemBodyTooLarge)
	c.post("/v1/wait", `{}`).problem(400, gateway.ProblemInvalidRequest).wants(400, "errors", `[{"field":"runId","detail":"it is missing","expected":"the runId of a waiting result"}]`)
	c.post("/v1/wait", `{"runId": " "}`).problem(400, gateway.ProblemInvalidRequest)
	c.post("/v1/abort", `{"runId": 7}`).problem(400, gateway.ProblemInvalidRequest)
	// All that is wrong is said at once.
	if a := c.post("/v1/exec", `{"code": 1, "language": 2, "x": 3}`).problem(400, gateway.ProblemInvalidRequest); strings.Count(string(a.member("errors")), `"field"`) != 3 {
		t.Errorf("errors: %s", a.member("errors"))
	}
	for name, values := range map[string][]string{
		gateway.HeaderSessionID:  {"a", "b"},
		gateway.HeaderSessionKey: {"100%"},
		gateway.HeaderAgentID:    {strings.Repeat("x", 513)},
		gateway.HeaderTurnID:     {"%ff"},
	} {
		r := c.request(context.Background(), http.MethodGet, "/v1/catalog", "")
		r.Header[name] = values
		if a := c.send(r).problem(400, gateway.ProblemInvalidRequest); !strings.Contains(a.text("detail"), name) {
			t.Errorf("%s: %s", name, a.body)
		}
	}
}

// TestSlowRequests sends headers and bodies that never end. That the server gives
// up is what ends the test.
func TestSlowRequests(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	// A server with both bounds might give up a header that has all come.
	headers := serve(t, h, gateway.Options{HeaderTimeout: 50 * time.Millisecond}, nil)
	c := serve(t, h, gateway.Options{BodyTimeout: 50 * time.Millisecond}, nil)
	for name, test := range map[string]struct {
		c            *caller
		send, status string
	}{
		"header":           {headers, "GET /v1/catalog HTTP/1.1\r\nHost: localhost\r\nX-", ""},
		"body":             {c, "POST /v1/exec HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", "408"},
		"chunked body":     {c, "POST /v1/exec HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", "408"},
		"body nobody asks": {c, "POST /v1/nope HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{", "404"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(test.c.base, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, test.send); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(bufio.NewReader(conn)) // until the server hangs up
			if err != nil && !strings.Contains(err.Error(), "reset") {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(got), strings.TrimSpace("HTTP/1.1 "+test.status)) && test.status != "" {
				t.Errorf("got %q", got)
			}
		})
	}
	// The bound on bodies does not bound the time of a request.
	c.post("/v1/exec", `{"code": "for (const end = Date.now() + 100; Date.now() < end;); return 1"}`).wants(200, "value", "1")
}

// TestSlowBodiesHoldNoPlaces: a request with a body that does not arrive takes nothing from
// others.
func TestSlowBodiesHoldNoPlaces(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{MaxCalls: 1}, nil)
	for range 8 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}()
		_, err = io.WriteString(conn, "POST /v1/exec HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		// The server says so once it reads the body.
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
			t.Fatalf("%q, %v", line, err)
		}
		if _, err := io.WriteString(conn, `{"code": `); err != nil {
			t.Fatal(err)
		}
	}
	c.exec(`return 1`).wants(200, "value", "1")
}

// TestPlacesOfASession: one session does not get all places for calls.
func TestPlacesOfASession(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := newHost(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{g.tool("slow")}})
	c := serve(t, h, gateway.Options{MaxCalls: 2}, nil)
	first := make(chan *answer, 1)
	go func() { first <- c.exec(`return await tools.slow({})`) }()
	<-g.entered
	a := c.exec(`return 1`).problem(503, gateway.ProblemBusy)
	for _, want := range []string{"this session has 1 exec and wait requests under way", "1 of the host's 2", "quotas.sessionPercent: 50", "server.maxCalls"} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("no %q in %s", want, a.body)
		}
	}
	c.as(host.Session{SessionID: "alice"}).exec(`return 1`).wants(200, "value", "1")
	close(g.open)
	(<-first).wants(200, "value", `"through"`)
	c.exec(`return 1`).wants(200, "value", "1")
}

// TestBodiesAreCharged: one session does not fill the memory with bodies.
func TestBodiesAreCharged(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Quotas: host.Quotas{SessionPercent: 1}})
	c := serve(t, h, gateway.Options{MaxBody: 64 << 10}, nil)
	long := `return 1 // ` + strings.Repeat("x", 40<<10) // of 1 % of 32 times 64 KiB
	a := c.exec(long).problem(503, gateway.ProblemBusy)
	if !strings.Contains(string(a.body), "bytes of request bodies") || !strings.Contains(string(a.body), "server.maxBodyBytes") {
		t.Errorf("%s", a.body)
	}
	c.exec(`return 1`).wants(200, "value", "1")
}

// TestBusy fills the places for calls.
func TestBusy(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := newHost(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{g.tool("slow")}})
	c := serve(t, h, gateway.Options{MaxCalls: 1}, nil)
	first := make(chan *answer, 1)
	go func() { first <- c.exec(`return await tools.slow({})`) }()
	<-g.entered
	a := c.exec(`return 1`).problem(503, gateway.ProblemBusy)
	if a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
	}
	c.wait("run_1").problem(503, gateway.ProblemBusy)
	c.get("/v1/catalog").wants(200)
	c.get("/healthz").wants(200)
	close(g.open)
	(<-first).wants(200, "value", `"through"`)
	c.exec(`return 1`).wants(200, "value", "1")
}

// TestMounts serves another protocol, behind the same checks.
func TestMounts(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	seen := make(chan gateway.Session, 1)
	mounts := map[string]gateway.Mount{"/mcp": func(w http.ResponseWriter, r *http.Request, s gateway.Session) {
		seen <- s
		w.WriteHeader(http.StatusNoContent)
	}}
	c := serve(t, h, gateway.Options{Token: secret, Mounts: mounts}, nil)
	for _, path := range []string{"/mcp", "/mcp/sse"} {
		resp, err := c.client.Do(c.request(context.Background(), http.MethodPost, path, "anything"))
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != 204 || <-seen != me {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	c.get("/mcpx").problem(404, gateway.ProblemNotFound)
	r := c.request(context.Background(), http.MethodPost, "/mcp", "")
	r.Host = "evil.example"
	resp, err := c.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 403 || len(seen) != 0 {
		t.Errorf("another host: %s, reached it: %d", resp.Status, len(seen))
	}
	for _, path := range []string{"mcp", "/", "/mcp/", "/v1/x", "/v1"} {
		if _, err := gateway.New(h, gateway.Options{Mounts: map[string]gateway.Mount{path: nil}}); err == nil {
			t.Errorf("mount %q was taken", path)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	for name, o := range map[string]gateway.Options{
		"token":     {Token: "short"},
		"host":      {Hosts: []string{"http://x"}},
		"host path": {Hosts: []string{"x/y"}},
		"no host":   {Hosts: []string{""}},
	} {
		if _, err := gateway.New(h, o); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
