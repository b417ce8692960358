package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcpserver"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	// What a program does in its last moment may be known after its end, so each call
	// waits until the client has heard of it.
	started := make(chan struct{}, 100)
	hello := catalog.Tool{Name: "hello", Description: "Waits until the client has heard of it.", Invoke: func(ctx context.Context, _ catalog.Invocation) (json.RawMessage, error) {
		select {
		case <-started:
		case <-ctx.Done():
		}
		return json.RawMessage(`1`), context.Cause(ctx)
	}}
	s := newServer(t, newHost(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{hello}}), mcpserver.Options{})
	var mu sync.Mutex
	var got []string
	o := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Params.Message)
		if r.Params.ProgressToken != "token" || r.Params.Progress != float64(len(got)) {
			t.Errorf("notified %+v as number %d", r.Params, len(got))
		}
		if r.Params.Message == "hello started" {
			started <- struct{}{}
		}
	}}
	everyWay(t, s, o, func(t *testing.T, c *mcp.ClientSession) {
		mu.Lock()
		got = nil
		mu.Unlock()
		p := &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": "await tools.hello({}); return await tools.hello({})"}}
		p.SetProgressToken("token")
		if res, err := c.CallTool(context.Background(), p); err != nil || res.IsError {
			t.Fatalf("%v: %+v", err, res)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, message := range got { // the end of a call may be known after the end of its program
			if message != "hello started" && message != "hello ended: ok" {
				t.Errorf("notified %q", got)
			}
		}
	})
}

// TestOutputIsToldAsItIsMade, with the progress of the tools that a program calls, to clients
// that follow the call.
func TestOutputIsToldAsItIsMade(t *testing.T) {
	t.Parallel()
	heard := make(chan struct{}, 100)
	build := catalog.Tool{Name: "build", Description: "Waits until the client has heard of its progress.", Invoke: func(ctx context.Context, in catalog.Invocation) (json.RawMessage, error) {
		in.Progress(json.RawMessage(`{"done":1,"total":4}`))
		select {
		case <-heard:
		case <-ctx.Done():
		}
		return json.RawMessage(`1`), context.Cause(ctx)
	}}
	s := newServer(t, newHost(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{build}}), mcpserver.Options{})
	var mu sync.Mutex
	var got []string
	o := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, r.Params.Message); r.Params.Message == "build: 25 %" {
			heard <- struct{}{}
		}
	}}
	everyWay(t, s, o, func(t *testing.T, c *mcp.ClientSession) {
		mu.Lock()
		got = nil
		mu.Unlock()
		p := &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": `text("one\u001b"); json({n: 2}); await tools.build({}); return 3`}}
		p.SetProgressToken("token")
		if res, err := c.CallTool(context.Background(), p); err != nil || res.IsError {
			t.Fatalf("%v: %+v", err, res)
		}
		mu.Lock()
		defer mu.Unlock()
		if want := []string{`one\x1b`, `{"n":2}`, "build started", "build: 25 %"}; len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("told %q", got)
		}
	})
}

// TestCancellationAborts: a client that cancels exec, or goes away, ends its run.
func TestCancellationAborts(t *testing.T) {
	t.Parallel()
	entered, ended := make(chan struct{}), make(chan error, 1)
	slow := catalog.Tool{Name: "slow", Description: "Takes long.", Invoke: func(ctx context.Context, _ catalog.Invocation) (json.RawMessage, error) {
		entered <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}}
	h := newHost(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{slow}})
	s := newServer(t, h, mcpserver.Options{})
	everyWay(t, s, nil, func(t *testing.T, c *mcp.ClientSession) {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": "return await tools.slow({})"}})
			done <- err
		}()
		<-entered
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the client got %v", err)
		}
		if err := <-ended; err == nil {
			t.Error("the call went on")
		}
	})
}

// TestTraceContext has the spans of runs under the span that a client names.
func TestTraceContext(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	h := newHost(t, host.Config{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))})
	s := newServer(t, h, mcpserver.Options{})
	const id = "0af7651916cd43dd8448eb211c80319c"
	everyWay(t, s, nil, func(t *testing.T, c *mcp.ClientSession) {
		before := len(spans.Ended())
		p := &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": "return 1"}, Meta: mcp.Meta{"traceparent": "00-" + id + "-b7ad6b7169203331-01"}}
		if _, err := c.CallTool(context.Background(), p); err != nil {
			t.Fatal(err)
		}
		ended := spans.Ended()[before:]
		if len(ended) != 1 || ended[0].Parent().TraceID().String() != id || ended[0].Parent().SpanID().String() != "b7ad6b7169203331" {
			t.Errorf("%d spans: %v", len(ended), ended)
		}
	})
}

// TestProgressIsToldToItsSession alone: who names the run of another hears nothing of it.
func TestProgressIsToldToItsSession(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Tools: []catalog.Tool{replies("hello", `1`)}})
	s := newServer(t, h, mcpserver.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	events, run, ended := h.Follow(ctx, host.EventFilter{All: true, OwnHost: true}), make(chan string, 1), make(chan *host.Result, 1)
	go func() {
		for e := range events {
			select {
			case run <- e.RunID:
			default:
			}
		}
	}()
	go func() {
		ended <- h.Exec(ctx, me, host.ExecInput{Code: "for (;;) await tools.hello({})"})
	}()
	o := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		t.Errorf("another session heard %q", r.Params.Message)
	}}
	other := connectStreams(t, s, host.Session{AgentID: "other"}, eras[0], o)
	p := &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{"runId": <-run}}
	p.SetProgressToken("token")
	for range 50 {
		if res, err := other.CallTool(t.Context(), p); err != nil || !res.IsError {
			t.Fatalf("%v: %+v", err, res)
		}
	}
	cancel()
	<-ended
}
