package gateway_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
)

// logBuffer is a log that tests can read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestAPanicFailsItsRequest alone: it is logged as an error with its stack and counted, its
// client learns of it, and the server continues.
func TestAPanicFailsItsRequest(t *testing.T) {
	t.Parallel()
	var log logBuffer
	h := newHost(t, host.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	c := serve(t, h, gateway.Options{Mounts: map[string]gateway.Mount{
		"/early": func(http.ResponseWriter, *http.Request, gateway.Session) { panic("before the answer") },
		"/late": func(w http.ResponseWriter, _ *http.Request, _ gateway.Session) {
			if _, err := io.WriteString(w, "half an "); err != nil {
				t.Error(err)
			}
			panic("within the answer")
		},
	}}, nil)
	get := func(path string) (int, string, error) {
		resp, err := c.client.Get(c.base + path)
		if err != nil {
			return 0, "", err
		}
		b, err := io.ReadAll(resp.Body)
		if cerr := resp.Body.Close(); cerr != nil {
			t.Error(cerr)
		}
		return resp.StatusCode, string(b), err
	}
	if status, body, err := get("/early"); status != 500 || err != nil || !strings.Contains(body, "internal_error") {
		t.Errorf("%d %s %v", status, body, err)
	}
	if status, body, err := get("/late"); err == nil {
		t.Errorf("half an answer looks whole: %d %s", status, body)
	}
	if _, body, err := get("/metrics"); err != nil || !strings.Contains(body, `quoin_panics_total{during="request"} `) {
		t.Errorf("metrics: %v\n%.200s", err, body)
	}
	for _, want := range []string{"level=ERROR", "before the answer", "within the answer", "panic_test.go", "path=/late"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, log.String())
		}
	}
}
