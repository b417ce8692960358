package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// counting counts the streams that a host opens.
type counting struct {
	server
	kept, own atomic.Int32
}

func (c *counting) CallTools(s grpc.BidiStreamingServer[protocolpb.CallToolsRequest, protocolpb.CallToolEvent]) error {
	c.kept.Add(1)
	return c.server.CallTools(s)
}

func (c *counting) CallTool(r *protocolpb.CallToolRequest, s grpc.ServerStreamingServer[protocolpb.CallToolEvent]) error {
	c.own.Add(1)
	return c.server.CallTool(r, s)
}

// caller is a service with calls that do what a function says.
type caller struct {
	echo
	do func(context.Context, CallRequest) (json.RawMessage, error)
}

func (c *caller) CallTool(ctx context.Context, req CallRequest, _ func(json.RawMessage) error) (json.RawMessage, error) {
	return c.do(ctx, req)
}

// repeat returns its input.
func repeat(_ context.Context, req CallRequest) (json.RawMessage, error) { return req.Input, nil }

func dialCounting(t *testing.T, do func(context.Context, CallRequest) (json.RawMessage, error)) (*Client, *counting) {
	c := &counting{server: server{service: &caller{do: do}}}
	return dial(t, func(s *grpc.Server) { protocolpb.RegisterPluginServer(s, c) }), c
}

func TestCallsInARowShareAStream(t *testing.T) {
	c, n := dialCounting(t, func(_ context.Context, req CallRequest) (json.RawMessage, error) {
		if req.Tool == "fail" {
			return nil, errors.New("no")
		}
		return req.Input, nil
	})
	for i := range 10 {
		in := json.RawMessage(fmt.Sprintf(`{"i":%d}`, i))
		out, err := c.CallTool(t.Context(), CallRequest{Tool: "t", Input: in}, nil)
		if err != nil || string(out) != string(in) {
			t.Fatalf("call %d: %s, %v", i, out, err)
		}
		if _, err := c.CallTool(t.Context(), CallRequest{Tool: "fail"}, nil); err == nil {
			t.Fatal("a failure was not reported")
		}
	}
	if kept, own := n.kept.Load(), n.own.Load(); kept != 1 || own != 0 {
		t.Errorf("%d kept streams and %d others for calls in a row", kept, own)
	}
}

func TestCallsAtOnceGetTheirOwnAnswers(t *testing.T) {
	const calls = 2 * maxIdleStreams
	c, n := dialCounting(t, repeat)
	var group sync.WaitGroup
	for i := range calls {
		group.Go(func() {
			in := json.RawMessage(fmt.Sprintf(`{"i":%d}`, i))
			for range 20 {
				if out, err := c.CallTool(t.Context(), CallRequest{Tool: "t", Input: in}, nil); err != nil || string(out) != string(in) {
					t.Errorf("call %d: %s, %v", i, out, err)
				}
			}
		})
	}
	group.Wait()
	if idle := len(c.streams.idle); idle == 0 || idle > maxIdleStreams {
		t.Errorf("%d streams are kept of %d", idle, n.kept.Load())
	}
}

func TestAPluginWithoutCallStreams(t *testing.T) {
	h := &plain{}
	c := dial(t, func(s *grpc.Server) { protocolpb.RegisterPluginServer(s, h) })
	for range 3 {
		if out, err := c.CallTool(t.Context(), CallRequest{Tool: "t"}, nil); err != nil || string(out) != "1" {
			t.Fatalf("%s, %v", out, err)
		}
	}
	if asked := h.asked.Load(); asked != 1 {
		t.Errorf("asked %d times for what it does not have", asked)
	}
}

// plain is a plugin that was made before there were streams of calls.
type plain struct {
	protocolpb.UnimplementedPluginServer
	asked atomic.Int32
}

func (p *plain) CallTools(s grpc.BidiStreamingServer[protocolpb.CallToolsRequest, protocolpb.CallToolEvent]) error {
	p.asked.Add(1)
	return p.UnimplementedPluginServer.CallTools(s)
}

func (*plain) CallTool(_ *protocolpb.CallToolRequest, s grpc.ServerStreamingServer[protocolpb.CallToolEvent]) error {
	return s.Send(&protocolpb.CallToolEvent{Event: &protocolpb.CallToolEvent_Result{Result: []byte("1")}})
}

func TestCancellingACallEndsIt(t *testing.T) {
	running, ended := make(chan struct{}), make(chan error, 1)
	c, _ := dialCounting(t, func(ctx context.Context, req CallRequest) (json.RawMessage, error) {
		if req.Tool != "wait" {
			return req.Input, nil
		}
		close(running)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-running
		cancel()
	}()
	if _, err := c.CallTool(ctx, CallRequest{Tool: "wait"}, nil); !errors.Is(err, &Error{Kind: KindCancelled, Code: CodeCancelled}) {
		t.Errorf("got %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the tool's context ended with %v", err)
	}
	if out, err := c.CallTool(t.Context(), CallRequest{Tool: "t", Input: json.RawMessage("{}")}, nil); err != nil || string(out) != "{}" {
		t.Errorf("the call after it: %s, %v", out, err)
	}
	if _, err := c.CallTool(ctx, CallRequest{Tool: "t"}, nil); !errors.Is(err, &Error{Kind: KindCancelled, Code: CodeCancelled}) {
		t.Errorf("a call that was cancelled before it began: %v", err)
	}
}

func TestTheDeadlineOfACallReachesTheTool(t *testing.T) {
	c, _ := dialCounting(t, func(ctx context.Context, req CallRequest) (json.RawMessage, error) {
		deadline, ok := ctx.Deadline()
		return json.Marshal(ok && time.Until(deadline) <= time.Hour)
	})
	for _, tt := range []struct {
		timeout time.Duration
		want    string
	}{{0, "false"}, {time.Hour, "true"}, {0, "false"}} { // of one call, not of those after it
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		if tt.timeout > 0 {
			ctx, cancel = context.WithTimeout(ctx, tt.timeout)
		}
		out, err := c.CallTool(ctx, CallRequest{Tool: "t"}, nil)
		cancel()
		if err != nil || string(out) != tt.want {
			t.Errorf("timeout %v: %s, %v", tt.timeout, out, err)
		}
	}
}

// TestALateEventIsNotTheNextAnswer: a plugin that answers twice.
func TestALateEventIsNotTheNextAnswer(t *testing.T) {
	c := dial(t, func(s *grpc.Server) { protocolpb.RegisterPluginServer(s, &stutterer{}) })
	out, err := c.CallTool(t.Context(), CallRequest{Tool: "t"}, nil)
	if err != nil || string(out) != "1" {
		t.Fatalf("%s, %v", out, err)
	}
	_, err = c.CallTool(t.Context(), CallRequest{Tool: "t"}, nil)
	wantProtocolError(t, err, "call 1 of its stream, not of call 2")
	if out, err := c.CallTool(t.Context(), CallRequest{Tool: "t"}, nil); err != nil || string(out) != "1" {
		t.Errorf("on the next stream: %s, %v", out, err)
	}
}

// stutterer answers each call on a stream twice.
type stutterer struct {
	protocolpb.UnimplementedPluginServer
}

func (*stutterer) CallTools(s grpc.BidiStreamingServer[protocolpb.CallToolsRequest, protocolpb.CallToolEvent]) error {
	for {
		r, err := s.Recv()
		if err != nil {
			return err
		}
		answer := func() *protocolpb.CallToolEvent {
			return &protocolpb.CallToolEvent{Number: r.GetNumber(), Event: &protocolpb.CallToolEvent_Result{Result: []byte("1")}}
		}
		if err := errors.Join(s.Send(answer()), s.Send(answer())); err != nil {
			return err
		}
	}
}

// full is a connection to a plugin that allows no more streams.
type full struct {
	grpc.ClientConnInterface
	asked chan struct{}
}

func (f *full) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	f.asked <- struct{}{}
	<-ctx.Done()
	return nil, status.FromContextError(ctx.Err()).Err()
}

// TestACallThatGetsNoStreamEndsWithItsContext: a plugin decides how many streams
// it allows, and not for how long a caller waits for one.
func TestACallThatGetsNoStreamEndsWithItsContext(t *testing.T) {
	cc := &full{asked: make(chan struct{})}
	c := NewClient(cc)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := c.CallTool(ctx, CallRequest{Tool: "t"}, nil)
		done <- err
	}()
	<-cc.asked
	cancel()
	var e *Error
	if err := <-done; !errors.As(err, &e) || e.Kind != KindCancelled {
		t.Errorf("got %v, want a cancelled call", err)
	}
}
