package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// TestACallThatHangs: in development the log says where a call stands that does not
// end, also one that works without a pause, and says so again after twice the time.
func TestACallThatHangs(t *testing.T) {
	entered := make(chan struct{})
	var release atomic.Bool
	tick, said := make(chan time.Time), make(chan string)
	p := New(Info{ID: "demo", Version: "1"}, &Options{Logger: slog.New(slog.NewJSONHandler(lines(said), nil))})
	AddTool(p, Tool{Name: "loops", Description: "Loops."}, func(context.Context, *Call, struct{}) (bool, error) {
		close(entered)
		for !release.Load() {
		}
		return true, nil
	})
	s := &service{p: p, development: true, after: func(time.Duration) <-chan time.Time { return tick }}
	ended := make(chan error)
	go func() {
		_, err := s.CallTool(t.Context(), protocol.CallRequest{Tool: "loops", CallID: "c1"}, nil)
		ended <- err
	}()
	<-entered
	for _, elapsed := range []string{"3s", "6s", "12s"} {
		tick <- time.Time{}
		var line struct{ Msg, Stack string }
		if err := json.Unmarshal([]byte(<-said), &line); err != nil {
			t.Fatal(err)
		}
		if want := "tool loops has not answered for " + elapsed + "; it stands at"; line.Msg != want {
			t.Errorf("said %q, want %q", line.Msg, want)
		}
		if !regexp.MustCompile(`sdk\.TestACallThatHangs\.func\d+\(\.\.\.\)\n\t\S*slow_call_test\.go:\d+\n`).MatchString(line.Stack) {
			t.Errorf("the stack is\n%s", line.Stack)
		}
	}
	release.Store(true)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestOnlyInDevelopment: a plugin in service is not watched.
func TestOnlyInDevelopment(t *testing.T) {
	p := New(Info{ID: "demo", Version: "1"}, nil)
	if p.Service().(*service).development {
		t.Error("it is watched")
	}
	t.Setenv(protocol.EnvDevelopment, "1")
	if !p.Service().(*service).development {
		t.Error("it is not watched in development")
	}
}

// lines sends what is written to it.
type lines chan<- string

func (l lines) Write(b []byte) (int, error) {
	l <- string(bytes.TrimSpace(b))
	return len(b), nil
}
