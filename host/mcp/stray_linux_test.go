package mcp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func init() {
	badServers["strays"] = func(r *raw) error {
		return r.serve(func(q request) error {
			if q.Method == "tools/list" {
				return r.reply(q, oneTool)
			}
			for _, id := range []string{"9999", `"x"`} {
				if err := r.say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"forged"}]}}`, id); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// TestAnswersToOtherRequests count for no call, before and after its time is over.
func TestAnswersToOtherRequests(t *testing.T) {
	t.Parallel()
	const foreign = `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"forged"}]}}`
	overHTTP := func(kind, before, after, id string) Server {
		return Server{Name: "s", URL: badHTTP(t, func(w http.ResponseWriter, r *http.Request, _ request) {
			w.Header().Set("Content-Type", kind)
			for range 2 {
				fmt.Fprintf(w, before+foreign+after, id)
				if kind == "application/json" {
					return
				}
			}
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})}
	}
	for name, c := range map[string]struct {
		server Server
		want   Code
		told   int // in the log
	}{
		"stdio":        {self(t, "s", "strays"), CodeTimeout, 1},
		"events":       {overHTTP("text/event-stream", "data: ", "\n\n", "9999"), CodeTimeout, 1},
		"JSON":         {overHTTP("application/json", "", "", "9999"), CodeInvalidReply, 1},
		"a text as id": {overHTTP("application/json", "", "", `"x"`), CodeInvalidReply, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.server.CallTimeout = 500 * time.Millisecond
			if c.want == CodeInvalidReply {
				c.server.CallTimeout = time.Minute // it is told at once
			}
			w := connect(t, Options{}, c.server)
			if e := w.refuse(t, t.Context(), "s", "t", `{}`); e.Code != c.want || !e.Unknown {
				t.Errorf("got %+v", e)
			}
			if n := strings.Count(w.log.String(), strayAnswer); n != c.told {
				t.Errorf("told %d times\n%s", n, w.log)
			}
		})
	}
}

// TestTheRightAnswerAfterAStray counts.
func TestTheRightAnswerAfterAStray(t *testing.T) {
	t.Parallel()
	url := badHTTP(t, func(w http.ResponseWriter, _ *http.Request, q request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, id := range []string{"9999", string(q.ID)} {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[],\"of\":%q}}\n\n", id, id)
		}
	})
	w := connect(t, Options{}, Server{Name: "s", URL: url})
	if got := w.call(t, "s", "t", `{}`); got["of"] == "9999" {
		t.Errorf("got %v", got)
	}
}
