package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestABadAnswerEndsItsCallAlone: another call that runs at the time is answered, so is the next,
// and the error has the status and a piece of the body.
func TestABadAnswerEndsItsCallAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status           int
		kind, body, says string
	}{
		"empty":        {200, "application/json", "", "HTTP status 200 OK without a body"},
		"cut":          {200, "application/json", `{"jsonrpc":"2.0","id":`, `HTTP status 200 OK, and its body is no message of MCP: {"jsonrpc"`},
		"proxy":        {200, "application/json", `{"message":"Endpoint request timed out"}`, "Endpoint request timed out"},
		"no content":   {204, "", "", "HTTP status 204 No Content"},
		"accepted":     {202, "", "", "HTTP status 202 Accepted"},
		"text":         {200, "text/plain", "rate limited", "no message of MCP: rate limited"},
		"page":         {200, "text/html", "<html>", "text/html"},
		"other error":  {200, "application/json", `{"error":"rate limited"}`, "rate limited"},
		"no id":        {200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"busy"}}`, "busy (code -32000)"},
		"no reply":     {200, "text/event-stream", "data: connected\n\n", "without response"},
		"cut event":    {200, "text/event-stream", `data: {"jsonrpc":"2.0","id":`, "without response"},
		"empty batch":  {200, "application/json", `[]`, "without response"},
		"cut batch":    {200, "application/json", `[{"jsonrpc":"2.0"`, "without response"},
		"said at 500":  {500, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"db locked"}}`, "db locked (code -32603)"},
		"its own code": {500, "application/json", `{"error":{"code":7,"message":"oops"}}`, "oops"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			running, bad := make(chan struct{}), make(chan struct{})
			url := badHTTP(t, func(w http.ResponseWriter, r *http.Request, q request) {
				var p struct {
					Arguments struct{ How string }
				}
				if err := json.Unmarshal(q.Params, &p); err != nil {
					t.Error(err)
				}
				switch p.Arguments.How {
				case "slow":
					close(running)
					<-bad
				case "bad":
					w.Header().Set("Content-Type", c.kind)
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.body) // some have none
					return
				}
				answer(w, q, `{"content":[]}`)
			})
			w := connect(t, Options{FirstDelay: time.Hour}, Server{Name: "f", URL: url})
			slow := make(chan error)
			go func() {
				_, err := w.Call(t.Context(), Request{Server: "f", Tool: "t", Input: json.RawMessage(`{"how":"slow"}`)})
				slow <- err
			}()
			<-running
			if e := w.refuse(t, t.Context(), "f", "t", `{"how":"bad"}`); !strings.Contains(e.Message, c.says) {
				t.Errorf("%+v", e)
			}
			close(bad)
			if err := <-slow; err != nil {
				t.Error(err)
			}
			w.call(t, "f", "t", `{}`)
		})
	}
}

// TestNotificationsThatAreRefused: what wants no answer is no reason to end a session.
func TestNotificationsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 404, 500, 200} {
		good := badHandler(func(w http.ResponseWriter, _ *http.Request, q request) { answer(w, q, `{"content":[]}`) })
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body) // what is no request is refused
			if strings.Contains(string(body), "notifications/") {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(status)
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			good(w, r)
		}))
		w := connect(t, Options{FirstDelay: time.Hour}, Server{Name: "f", URL: url})
		w.call(t, "f", "t", `{}`)
		if told := strings.Contains(w.log.String(), fmt.Sprintf("HTTP status %d for messages that want no answer", status)); told != (status != 200) {
			t.Errorf("%d: told: %v\n%s", status, told, w.log)
		}
	}
}
