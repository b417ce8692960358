package mcp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// TestAStreamWithALateHead: a server that sends the head of its stream with the first event, or
// never, is connected before, and its messages are read once they come. Close waits for no head.
func TestAStreamWithALateHead(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(w http.ResponseWriter){ // what comes after the first call
		"never":       nil,
		"not offered": func(w http.ResponseWriter) { w.WriteHeader(http.StatusMethodNotAllowed) },
		"events": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			called, listed := make(chan struct{}), make(chan struct{}, 10)
			messages := badHandler(func(w http.ResponseWriter, _ *http.Request, q request) {
				answer(w, q, `{"content":[]}`)
				close(called)
			})
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					body, _ := io.ReadAll(r.Body) // an empty one is refused
					if bytes.Contains(body, []byte("tools/list")) {
						listed <- struct{}{}
					}
					r.Body = io.NopCloser(bytes.NewReader(body))
					messages(w, r)
					return
				}
				select {
				case <-called:
				case <-r.Context().Done():
				}
				if first != nil {
					first(w)
					_ = http.NewResponseController(w).Flush() // the client may be gone
				}
				<-r.Context().Done()
			}))
			times := tenth
			times.probeTimeout = 10 * time.Millisecond
			w := connect(t, Options{times: times, FirstDelay: time.Hour}, Server{Name: "f", URL: url})
			<-listed
			w.call(t, "f", "t", `{}`)
			if name == "events" {
				<-listed
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
