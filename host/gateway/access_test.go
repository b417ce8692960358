package gateway_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
)

// logLines is a log that hands out its lines.
type logLines chan string

func (l logLines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestAccessLog: a line for each request that has been answered, refused ones
// included, with nothing of tokens, queries and bodies.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef-token"
	log := make(logLines, 100)
	c := serve(t, newHost(t, host.Config{}), gateway.Options{
		Token: token, AccessLog: true, Logger: slog.New(slog.NewJSONHandler(log, nil)),
	}, nil)
	who := map[string]any{"agent": "agent", "sessionKey": "key", "session": "session"}
	for _, tc := range []struct {
		ask    func() *answer
		method string
		path   string
	}{
		{func() *answer { return c.get("/healthz") }, "GET", "/healthz"},
		{func() *answer { return c.get("/v1/approvals?state=" + token) }, "GET", "/v1/approvals"},
		{func() *answer { return c.post("/v1/exec", `{"code": "return '`+token+`'"}`) }, "POST", "/v1/exec"},
		{func() *answer { return c.get("/" + strings.Repeat("x", 200)) }, "GET", "/" + strings.Repeat("x", 63) + "…"},
	} {
		a := tc.ask()
		line := <-log
		if strings.Contains(line, token) {
			t.Errorf("the line has the token: %s", line)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"time", "took", "remote"} {
			if got[key] == nil {
				t.Errorf("%s has no %s", line, key)
			}
			delete(got, key)
		}
		want := map[string]any{"level": "INFO", "msg": "request", "method": tc.method, "path": tc.path,
			"status": float64(a.status), "bytes": float64(len(a.body))}
		for k, v := range who {
			want[k] = v
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.path, d)
		}
	}
}
