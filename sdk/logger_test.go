package sdk

import (
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestLinesOfHclog: what a plugin logs is written by hclog, with groups as objects.
func TestLinesOfHclog(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := slog.New(newHostHandler(&out))
	log.Debug("looking", "n", 1)
	log.Log(t.Context(), slog.LevelWarn+1, "slow", slog.Group("request", "method", "GET", "took", time.Second, "error", errors.New("no <luck>")))
	log.With("tool", "add").WithGroup("g").With("a", 1).WithGroup("").WithGroup("h").Error("gone", "error", errors.New("nothing"))
	log.Info("empty", slog.Group("none"), slog.Group("", "inline", true), slog.Attr{})
	log.Log(t.Context(), slog.LevelDebug-1, "not written")
	got := regexp.MustCompile(`"@timestamp":"[^"]+"`).ReplaceAllString(out.String(), `"@timestamp":""`)
	want := []string{
		`{"@level":"debug","@message":"looking","@timestamp":"","n":1}`,
		`{"@level":"warn","@message":"slow","@timestamp":"","request":{"method":"GET","took":1000000000,"error":"no \u003cluck\u003e"}}`,
		`{"@level":"error","@message":"gone","@timestamp":"","g":{"a":1,"h":{"error":"nothing"}},"tool":"add"}`,
		`{"@level":"info","@message":"empty","@timestamp":"","inline":true}`,
	}
	if got != strings.Join(want, "\n")+"\n" {
		t.Errorf("got\n%swant\n%s", got, strings.Join(want, "\n"))
	}
}
