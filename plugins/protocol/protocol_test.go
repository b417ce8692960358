package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// dial connects a client to whatever register puts on the server.
func dial(t *testing.T, register func(*grpc.Server)) *Client {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///p", append(DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Stop()
		if err := errors.Join(conn.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return NewClient(conn)
}

// echo is a service that records what it got and returns what it is told.
type echo struct {
	desc   *Description
	conf   Configuration
	call   CallRequest
	args   []json.RawMessage
	run    RunContext
	result json.RawMessage
	err    error

	inverse *Inverse
}

func (e *echo) Describe(context.Context) (*Description, error) { return e.desc, nil }
func (e *echo) Configure(_ context.Context, c Configuration) error {
	e.conf = c
	return e.err
}
func (e *echo) CreateScope(_ context.Context, _ string, run RunContext) (json.RawMessage, error) {
	e.run = run
	return e.result, e.err
}
func (e *echo) MapInput(_ context.Context, _ string, run RunContext, _ string, args []json.RawMessage) (json.RawMessage, error) {
	e.run, e.args = run, args
	return e.result, e.err
}
func (e *echo) CallTool(_ context.Context, req CallRequest, progress func(json.RawMessage) error) (json.RawMessage, error) {
	if e.inverse != nil {
		req.RevertBy(*e.inverse)
	}
	e.call, e.call.RevertBy = req, nil
	if err := progress(json.RawMessage(`"half"`)); err != nil {
		return nil, err
	}
	return e.result, e.err
}
func (e *echo) Health(context.Context) (HealthStatus, error) {
	return HealthStatus{RunningCalls: 3}, e.err
}
func (e *echo) Drain(context.Context) (int, error) { return 4, nil }

var testRun = RunContext{AgentID: "a", SessionKey: "k", SessionID: "s", RunID: "r", TurnID: "t", Config: json.RawMessage(`{"x":1}`)}

func TestEverythingSurvivesTheWire(t *testing.T) {
	e := &echo{result: json.RawMessage(`{"ok":true}`), desc: &Description{
		ID: "id", Version: "1", Description: "d",
		Tools: []ToolInfo{{
			Name: "t", Label: "l", Description: "d", ReadOnly: true, Idempotent: true, Revertible: true,
			Parameters: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`true`),
			Examples: []Example{{Description: "e", Input: json.RawMessage(`{}`), Output: json.RawMessage(`1`)}},
		}, {Name: "u", Parameters: json.RawMessage(`{}`)}},
		Namespaces:   []NamespaceInfo{{ID: "n", GlobalName: "N", Description: "d", Prompt: "p", RequiredTools: []string{"t", "u"}, Scope: json.RawMessage(`{}`)}},
		Capabilities: Capabilities{BeforeToolCall: true, AfterToolCall: true, HookTools: []string{"t", "quoin:x:*"}},
	}}
	c := dial(t, func(s *grpc.Server) { Register(s, e) })
	ctx := t.Context()

	desc, err := c.Describe(ctx)
	if diff := cmp.Diff(e.desc, desc); diff != "" || err != nil {
		t.Errorf("Describe: %v\n%s", err, diff)
	}
	conf := Configuration{DataDir: "/d", JSON: json.RawMessage(`{"a":1}`), Secrets: map[string]string{"token": "x"}, Protocol: 2}
	if err := c.Configure(ctx, conf); err != nil || cmp.Diff(conf, e.conf) != "" {
		t.Errorf("Configure: %v, %+v", err, e.conf)
	}
	if scope, err := c.CreateScope(ctx, "n", testRun); err != nil || string(scope) != `{"ok":true}` || cmp.Diff(testRun, e.run) != "" {
		t.Errorf("CreateScope: %s, %v, %+v", scope, err, e.run)
	}
	args := []json.RawMessage{[]byte(`1`), []byte(`"two"`)}
	if in, err := c.MapInput(ctx, "n", testRun, "m", args); err != nil || string(in) != `{"ok":true}` || cmp.Diff(args, e.args) != "" {
		t.Errorf("MapInput: %s, %v, %s", in, err, e.args)
	}
	req := CallRequest{Tool: "t", CallID: "c", IdempotencyKey: "i", Run: testRun, Input: json.RawMessage(`{"n":1}`), Epoch: 7, Approval: &CallApproval{ID: "apr", Subject: "s", Edited: true, Remembered: true}}
	var progress string
	result, err := c.CallTool(ctx, req, func(v json.RawMessage) { progress = string(v) })
	if err != nil || string(result) != `{"ok":true}` || progress != `"half"` || cmp.Diff(req, e.call) != "" {
		t.Errorf("CallTool: %s, %v, %s, %+v", result, err, progress, e.call)
	}
	if h, err := c.Health(ctx); err != nil || h.RunningCalls != 3 {
		t.Errorf("Health: %+v, %v", h, err)
	}
	if n, err := c.Drain(ctx); err != nil || n != 4 {
		t.Errorf("Drain: %d, %v", n, err)
	}
}

// TestInversesTravelWithResults: with a result, for a caller that asks, and never instead
// of it.
func TestInversesTravelWithResults(t *testing.T) {
	e := &echo{result: json.RawMessage(`{"ok":true}`)}
	c := dial(t, func(s *grpc.Server) { Register(s, e) })
	for name, tc := range map[string]struct {
		said *Inverse
		err  error
		want *Inverse
	}{
		"nothing said": {},
		"a tool":       {said: &Inverse{Tool: "u", Input: json.RawMessage(`{"n":1}`)}, want: &Inverse{Tool: "u", Input: json.RawMessage(`{"n":1}`)}},
		"impossible":   {said: &Inverse{Impossible: "it is ashes"}, want: &Inverse{Impossible: "it is ashes"}},
		"not JSON":     {said: &Inverse{Tool: "u", Input: json.RawMessage(`{`)}, want: &Inverse{Impossible: "the input of the inverse is not JSON in UTF-8"}},
		"a failure":    {said: &Inverse{Tool: "u"}, err: errors.New("no")},
	} {
		t.Run(name, func(t *testing.T) {
			e.inverse, e.err = tc.said, tc.err
			var got *Inverse
			result, err := c.CallTool(t.Context(), CallRequest{Tool: "t", RevertBy: func(i Inverse) { got = &i }}, nil)
			if (err != nil) != (tc.err != nil) || err == nil && string(result) != `{"ok":true}` {
				t.Errorf("got %s, %v", result, err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			if _, err := c.CallTool(t.Context(), CallRequest{Tool: "t"}, nil); (err != nil) != (tc.err != nil) {
				t.Errorf("a caller that does not ask: %v", err)
			}
		})
	}
}

func TestErrorsTravelAsData(t *testing.T) {
	tests := []struct {
		name       string
		sent       error
		kind       Kind
		code, says string
		details    string
	}{
		{"tool", &Error{Kind: KindTool, Code: "not_found", Message: "no", Details: json.RawMessage(`{"id":1}`)}, KindTool, "not_found", "no", `{"id":1}`},
		{"any error", errors.New("disk full"), KindTool, CodeToolError, "disk full", ""},
		{"input", NewError(KindInput, CodeInvalidInput, "x"), KindInput, CodeInvalidInput, "x", ""},
		{"draining", NewError(KindProcess, CodeDraining, "x"), KindProcess, CodeDraining, "x", ""},
		{"too slow", NewError(KindTimeout, CodeTimeout, "x"), KindTimeout, CodeTimeout, "x", ""},
		{"no code", &Error{Kind: KindTool, Message: "x"}, KindTool, CodeToolError, "x", ""},
		{"details that are not JSON", &Error{Kind: KindTool, Code: "c", Message: "x", Details: json.RawMessage(`{`)}, KindTool, "c", "x", ""},
		{"text that is not UTF-8", NewError(KindTool, "c", "a\xffb"), KindTool, "c", "a\uFFFDb", ""},
		// What only the host may say is taken for a fault of the plugin.
		{"crashed", NewError(KindProcess, CodeCrashed, "x"), KindPlugin, CodeCrashed, "x", ""},
		{"cancelled", NewError(KindCancelled, CodeCancelled, "x"), KindPlugin, CodeCancelled, "x", ""},
		{"protocol", NewError(KindProtocol, CodeMalformedReply, "x"), KindPlugin, CodeMalformedReply, "x", ""},
		{"unknown kind", NewError(Kind(200), "c", "x"), KindPlugin, "c", "x", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := dial(t, func(s *grpc.Server) { Register(s, &echo{err: tt.sent}) })
			_, call := c.CallTool(t.Context(), CallRequest{Tool: "t"}, nil)
			_, scope := c.CreateScope(t.Context(), "n", testRun)
			_, mapped := c.MapInput(t.Context(), "n", testRun, "m", nil)
			_, health := c.Health(t.Context())
			for _, err := range []error{call, scope, mapped, health, c.Configure(t.Context(), Configuration{})} {
				e, ok := err.(*Error)
				if !ok || e.Kind != tt.kind || e.Code != tt.code || e.Message != tt.says || string(e.Details) != tt.details {
					t.Errorf("got %#v", err)
				}
			}
		})
	}
}

// hostile sends what no good plugin would.
type hostile struct {
	protocolpb.UnimplementedPluginServer
	events []*protocolpb.CallToolEvent
	schema string
	// streams: CallTools is there too.
	streams bool
}

func (h *hostile) CallTools(s grpc.BidiStreamingServer[protocolpb.CallToolsRequest, protocolpb.CallToolEvent]) error {
	if !h.streams {
		return h.UnimplementedPluginServer.CallTools(s)
	}
	r, err := s.Recv()
	if err != nil {
		return err
	}
	for _, e := range h.events {
		e = proto.CloneOf(e)
		e.Number += r.GetNumber()
		if err := s.Send(e); err != nil {
			return err
		}
	}
	return nil
}

func (h *hostile) CallTool(_ *protocolpb.CallToolRequest, s grpc.ServerStreamingServer[protocolpb.CallToolEvent]) error {
	for _, e := range h.events {
		if err := s.Send(e); err != nil {
			return err
		}
	}
	return nil
}

func (h *hostile) Describe(context.Context, *protocolpb.DescribeRequest) (*protocolpb.DescribeResponse, error) {
	return &protocolpb.DescribeResponse{Tools: []*protocolpb.Tool{{Name: "t", Parameters: []byte(h.schema)}}}, nil
}

func (h *hostile) CreateScope(context.Context, *protocolpb.CreateScopeRequest) (*protocolpb.CreateScopeResponse, error) {
	return &protocolpb.CreateScopeResponse{}, nil
}

func TestHostileReplies(t *testing.T) {
	result := func(s string) *protocolpb.CallToolEvent {
		return &protocolpb.CallToolEvent{Event: &protocolpb.CallToolEvent_Result{Result: []byte(s)}}
	}
	progress := &protocolpb.CallToolEvent{Event: &protocolpb.CallToolEvent_Progress{Progress: []byte("nope")}}
	tests := []struct {
		name   string
		events []*protocolpb.CallToolEvent
		says   string
	}{
		{"no event", nil, "without a result"},
		{"an empty event", []*protocolpb.CallToolEvent{{}}, "unknown type"},
		{"an empty result", []*protocolpb.CallToolEvent{result("")}, "missing"},
		{"a result that is not JSON", []*protocolpb.CallToolEvent{result("{")}, "not JSON"},
		{"progress that is not JSON", []*protocolpb.CallToolEvent{progress, result("1")}, "not JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, streams := range []bool{true, false} {
				c := dial(t, func(s *grpc.Server) {
					protocolpb.RegisterPluginServer(s, &hostile{events: tt.events, streams: streams})
				})
				_, err := c.CallTool(t.Context(), CallRequest{Tool: "t"}, nil)
				wantProtocolError(t, err, tt.says)
			}
		})
	}
	c := dial(t, func(s *grpc.Server) { protocolpb.RegisterPluginServer(s, &hostile{schema: "{"}) })
	_, err := c.Describe(t.Context())
	wantProtocolError(t, err, "input schema of tool t is not JSON")
	_, err = c.CreateScope(t.Context(), "n", testRun)
	wantProtocolError(t, err, "missing")
	_, err = c.Health(t.Context())
	wantProtocolError(t, err, "does not implement")
}

func wantProtocolError(t *testing.T, err error, says string) {
	t.Helper()
	e, ok := err.(*Error)
	if !ok || e.Kind != KindProtocol || e.Code != CodeMalformedReply || !strings.Contains(e.Message, says) {
		t.Errorf("got %#v, want a protocol error that says %q", err, says)
	}
}

func TestAResultOverTheLimitNeverLeavesThePlugin(t *testing.T) {
	big := json.RawMessage(`"` + strings.Repeat("x", MaxMessageBytes) + `"`)
	c := dial(t, func(s *grpc.Server) { Register(s, &echo{result: big}) })
	_, err := c.CallTool(t.Context(), CallRequest{Tool: "t"}, nil)
	if !errors.Is(err, &Error{Kind: KindProtocol, Code: CodeReplyTooLarge}) || !strings.Contains(err.Error(), "return less") {
		t.Errorf("got %v", err)
	}
	_, err = c.CallTool(t.Context(), CallRequest{Tool: "t", Input: big}, nil)
	if !errors.Is(err, &Error{Kind: KindInput, Code: CodeRequestTooLarge}) {
		t.Errorf("a request over the limit: %v", err)
	}
	_, err = c.MapInput(t.Context(), "n", testRun, "m", []json.RawMessage{big})
	if !errors.Is(err, &Error{Kind: KindInput, Code: CodeRequestTooLarge}) {
		t.Errorf("arguments over the limit: %v", err)
	}
}

func TestLateProgressIsRefused(t *testing.T) {
	late := make(chan func(json.RawMessage) error, 1)
	c := dial(t, func(s *grpc.Server) { Register(s, &leaky{echo{result: json.RawMessage("1")}, late}) })
	if _, err := c.CallTool(t.Context(), CallRequest{Tool: "t"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := (<-late)(json.RawMessage("2")); err == nil {
		t.Error("progress was sent after the result")
	}
}

// leaky hands its progress function out of the call.
type leaky struct {
	echo
	late chan func(json.RawMessage) error
}

func (l *leaky) CallTool(_ context.Context, _ CallRequest, progress func(json.RawMessage) error) (json.RawMessage, error) {
	l.late <- progress
	return l.result, nil
}

func TestErrorMatchesByCode(t *testing.T) {
	err := error(NewError(KindTool, "not_found", "one"))
	if !errors.Is(err, &Error{Code: "not_found"}) || !errors.Is(err, &Error{Kind: KindTool, Code: "not_found", Message: "two"}) {
		t.Error("the same code does not match")
	}
	if errors.Is(err, &Error{Code: "other"}) || errors.Is(err, &Error{Kind: KindInput, Code: "not_found"}) {
		t.Error("another code or kind matches")
	}
	for k := KindUnknown; k <= KindCancelled; k++ {
		if k > KindUnknown && k.String() == "unknown" {
			t.Errorf("kind %d has no name", k)
		}
	}
}
