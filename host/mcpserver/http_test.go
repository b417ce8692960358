package mcpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/mcpserver"
)

const (
	statelessList = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	olderList     = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	initialize    = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`
)

// post sends a request with headers, given as pairs. Host is the name it is addressed to.
func post(t testing.TB, url, body string, headers ...string) (status int, header http.Header, answer string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return resp.StatusCode, resp.Header, string(b)
}

// TestRequestsThatAreRefused sends them to the server alone, and mounted in a gateway.
func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	s := newServer(t, h, mcpserver.Options{MaxBody: 10_000})
	alone := httptest.NewServer(s)
	t.Cleanup(alone.Close)
	g, err := gateway.New(h, gateway.Options{Logger: quiet, Mounts: map[string]gateway.Mount{"/mcp": s.Handle}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(l) }()
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	modern := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}
	with := func(more ...string) []string { return append(append([]string{}, modern...), more...) }
	for name, test := range map[string]struct {
		body    string
		headers []string
		status  int
		answer  string
	}{
		"stateless":            {statelessList, modern, 200, `"exec"`},
		"older":                {olderList, nil, 200, `"exec"`},
		"connection elsewhere": {olderList, []string{"Mcp-Session-Id", "OTHERPROCESS.1"}, 200, `"exec"`},
		"other origin":         {statelessList, with("Origin", "https://evil.example"), 403, ""},
		"other site":           {statelessList, with("Sec-Fetch-Site", "cross-site"), 403, ""},
		"null origin":          {olderList, []string{"Origin", "null"}, 403, ""},
		"other host":           {statelessList, with("Host", "evil.example"), 403, ""},
		"huge body":            {statelessList[:len(statelessList)-1] + strings.Repeat(" ", 10_000) + "}", modern, 413, "10000 bytes"},
		"other method":         {statelessList, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call"}, 400, "-32020"},
		"no method":            {statelessList, []string{"Mcp-Protocol-Version", "2026-07-28"}, 400, "-32020"},
		"other revision":       {statelessList, []string{"Mcp-Protocol-Version", "2025-11-25"}, 400, ""},
		"unknown revision":     {strings.ReplaceAll(statelessList, "2026-07-28", "2099-01-01"), []string{"Mcp-Protocol-Version", "2099-01-01", "Mcp-Method", "tools/list"}, 400, "2026-07-28"},
		"no revision":          {olderList, []string{"Mcp-Protocol-Version", "1999-01-01"}, 400, ""},
		"byte order mark":      {"\ufeff" + olderList, nil, 200, "tools"},
		"no JSON":              {`{oops`, nil, 400, "malformed payload"},
		"other media type":     {olderList, []string{"Content-Type", "text/plain"}, 415, ""},
		"gone connection":      {olderList, []string{"Mcp-Session-Id", "PROCESS.gone"}, 404, ""},
	} {
		for where, url := range map[string]string{"alone": alone.URL, "mounted": "http://" + l.Addr().String() + "/mcp"} {
			t.Run(name+" "+where, func(t *testing.T) {
				headers := append([]string{}, test.headers...)
				for i, value := range headers {
					if value == "PROCESS.gone" {
						_, header, _ := post(t, url, initialize)
						process, _, _ := strings.Cut(header.Get("Mcp-Session-Id"), ".")
						headers[i] = process + ".gone"
					}
				}
				status, _, answer := post(t, url, test.body, headers...)
				if status != test.status || !strings.Contains(answer, test.answer) {
					t.Errorf("%d %s, want %d and %s", status, answer, test.status, test.answer)
				}
			})
		}
	}
}

// TestConnectionsBelongToSessions has another session use the connection of a client.
func TestConnectionsBelongToSessions(t *testing.T) {
	t.Parallel()
	s := newServer(t, newHost(t, host.Config{}), mcpserver.Options{})
	_, header, answer := post(t, overHTTP(t, s, me).URL, initialize)
	id := header.Get("Mcp-Session-Id")
	if id == "" {
		t.Fatalf("initialize: %s", answer)
	}
	for _, body := range []string{olderList, `{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`} {
		if status, _, answer := post(t, overHTTP(t, s, host.Session{SessionID: "other"}).URL, body, "Mcp-Session-Id", id); status != http.StatusForbidden {
			t.Errorf("%d %s", status, answer)
		}
	}
	turn := me
	turn.TurnID = "next"
	if status, _, answer := post(t, overHTTP(t, s, turn).URL, olderList, "Mcp-Session-Id", id); status != http.StatusOK {
		t.Errorf("another turn: %d %s", status, answer)
	}
}

// TestSessionsAreWhoTheRequestIs: what a caller proves itself with decides, request by
// request.
func TestSessionsAreWhoTheRequestIs(t *testing.T) {
	t.Parallel()
	s := newServer(t, newHost(t, host.Config{}), mcpserver.Options{Session: func(r *http.Request) (host.Session, error) {
		name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			return host.Session{}, fmt.Errorf("no token")
		}
		return host.Session{SessionID: name}, nil
	}})
	web := overHTTP(t, s, me)
	if status, _, answer := post(t, web.URL, olderList); status != http.StatusForbidden || !strings.Contains(answer, "no token") {
		t.Errorf("%d %s", status, answer)
	}
	if status, _, answer := post(t, web.URL, olderList, "Authorization", "Bearer alice"); status != http.StatusOK {
		t.Errorf("%d %s", status, answer)
	}
}

// TestLimitsOfConnectionsAndStreams: beyond them clients are answered without a
// connection, or told to come again.
func TestLimitsOfConnectionsAndStreams(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Quotas: host.Quotas{SessionPercent: 100}})
	s := newServer(t, h, mcpserver.Options{MaxConnections: 1, MaxStreams: 1})
	web := overHTTP(t, s, me)
	_, header, _ := post(t, web.URL, initialize)
	id := header.Get("Mcp-Session-Id")
	if _, header, answer := post(t, web.URL, initialize); header.Get("Mcp-Session-Id") != "" || !strings.Contains(answer, "2025-11-25") {
		t.Errorf("a second connection: %v %s", header, answer)
	}
	listen := func() *http.Response {
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Mcp-Session-Id", id)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	if resp := listen(); resp.StatusCode != http.StatusOK {
		t.Fatalf("the first stream: %d", resp.StatusCode)
	}
	if resp := listen(); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the second stream: %d", resp.StatusCode)
	}
}

// TestBodyThatComesSlowly is cut off by the gateway's limit, and a call that takes longer
// than that limit is not.
func TestBodyThatComesSlowly(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	s := newServer(t, h, mcpserver.Options{})
	g, err := gateway.New(h, gateway.Options{Logger: quiet, BodyTimeout: 100 * time.Millisecond, Mounts: map[string]gateway.Mount{"/mcp": s.Handle}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(g)
	t.Cleanup(web.Close)
	arriving, sending := io.Pipe()
	defer sending.Close()
	r, err := http.NewRequest(http.MethodPost, web.URL+"/mcp", arriving)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a body that does not arrive: %d", resp.StatusCode)
	}
	c := connectHTTP(t, web.URL+"/mcp", eras[0], nil)
	if _, got := call(t, c, "exec", map[string]any{"code": "await new Promise((go) => setTimeout(go, 300)); return 1"}); got["value"] != 1.0 {
		t.Errorf("exec: %v", got)
	}
}

// TestSlowBodiesTakeNothingFromOthers: requests of one caller that announce much and send nothing hold no place and no
// bytes that another caller needs.
func TestSlowBodiesTakeNothingFromOthers(t *testing.T) {
	t.Parallel()
	s := newServer(t, newHost(t, host.Config{}), mcpserver.Options{MaxCalls: 2, MaxBody: 1 << 20})
	for _, name := range []string{"one", "two"} {
		web := overHTTP(t, s, host.Session{SessionID: name})
		for range 40 {
			conn, err := net.Dial("tcp", web.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			// The answer 100 says that the server reads the body.
			fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n", web.Listener.Addr())
			if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100") {
				t.Fatalf("%q %v", line, err)
			}
		}
	}
	if status, _, answer := post(t, overHTTP(t, s, me).URL, olderList); status != http.StatusOK {
		t.Errorf("%d %s", status, answer)
	}
}

// TestConnectionsAreShared: where there is no room for one more, the oldest of the caller with the most goes, and who has
// a single one keeps it.
func TestConnectionsAreShared(t *testing.T) {
	t.Parallel()
	s := newServer(t, newHost(t, host.Config{}), mcpserver.Options{MaxConnections: 4})
	open := func(name string) string {
		_, header, answer := post(t, overHTTP(t, s, host.Session{SessionID: name}).URL, initialize)
		if id := header.Get("Mcp-Session-Id"); id != "" {
			return id
		}
		t.Fatalf("%s has no connection: %s", name, answer)
		return ""
	}
	works := func(name, id string) bool {
		status, _, _ := post(t, overHTTP(t, s, host.Session{SessionID: name}).URL, olderList, "Mcp-Session-Id", id)
		return status == http.StatusOK
	}
	first := open("early")
	var greedy []string
	for range 10 {
		greedy = append(greedy, open("greedy"))
	}
	other := open("other")
	if !works("early", first) || !works("other", other) || !works("greedy", greedy[9]) {
		t.Error("a connection is gone that was no one too many")
	}
	if works("greedy", greedy[0]) {
		t.Error("the oldest of the greediest is still there")
	}
}

// TestStatelessListIsStable: equal requests get equal lists, so that prompts can be cached.
func TestStatelessListIsStable(t *testing.T) {
	t.Parallel()
	s := newServer(t, newHost(t, host.Config{}), mcpserver.Options{})
	web := overHTTP(t, s, me)
	first := ""
	for range 5 {
		_, _, answer := post(t, web.URL, statelessList, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list")
		if first == "" {
			first = answer
		}
		if answer != first {
			t.Fatalf("two lists differ:\n%s\n%s", first, answer)
		}
	}
}
