package conformance

import (
	"encoding/json"
	"errors"
	"io"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// withUnknown adds fields of each wire type that no version has.
func withUnknown[M proto.Message](m M) M {
	var b []byte
	b = protowire.AppendTag(b, 1001, protowire.VarintType)
	b = protowire.AppendVarint(b, 1<<63)
	b = protowire.AppendTag(b, 1002, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, 7)
	b = protowire.AppendTag(b, 1003, protowire.BytesType)
	b = protowire.AppendString(b, "from a later version")
	b = protowire.AppendTag(b, 1004, protowire.Fixed32Type)
	b = protowire.AppendFixed32(b, 7)
	m.ProtoReflect().SetUnknown(b)
	return m
}

func runMessage() *protocolpb.RunContext {
	return &protocolpb.RunContext{AgentId: run.AgentID, SessionKey: run.SessionKey, SessionId: run.SessionID, RunId: run.RunID}
}

func callMessage(tool string, input json.RawMessage) *protocolpb.CallToolRequest {
	return &protocolpb.CallToolRequest{Tool: tool, CallId: "call-wire", IdempotencyKey: "key-wire", Run: runMessage(), Input: input}
}

// describeTwice wants equal answers.
func describeTwice(e *wireExam) {
	first, err := e.rpc.Describe(e.ctx, &protocolpb.DescribeRequest{})
	if err != nil {
		e.problem("Describe failed: %v", err)
		return
	}
	second, err := e.rpc.Describe(e.ctx, &protocolpb.DescribeRequest{})
	if err != nil || !proto.Equal(first, second) {
		e.problem("Describe says something else the second time (%v); a description must not change while the process lives", err)
	}
}

// unknownFields sends requests with fields of a later version.
func unknownFields(e *wireExam) {
	d, err := e.rpc.Describe(e.ctx, withUnknown(&protocolpb.DescribeRequest{}))
	if err != nil || d.GetId() != e.found.Manifest.ID {
		e.problem("Describe with unknown fields failed: %v", err)
	}
	if _, err := e.rpc.Health(e.ctx, withUnknown(&protocolpb.HealthRequest{})); err != nil {
		e.problem("Health with unknown fields failed: %v", err)
	}
	for _, n := range d.GetNamespaces() {
		request := &protocolpb.CreateScopeRequest{NamespaceId: n.GetId(), Run: withUnknown(runMessage())}
		r, err := e.rpc.CreateScope(e.ctx, withUnknown(request))
		if err != nil || r.GetError() != nil {
			e.problem("CreateScope of %s with unknown fields failed: %v %s", n.GetId(), err, r.GetError().GetMessage())
		}
	}
	e.lastEvent(withUnknown(callMessage("no_such_tool", json.RawMessage(`{}`))), protocol.KindInput, protocol.CodeUnknownTool)
}

// lastEvent makes a call by CallTool and wants the error that ends it.
func (e *wireExam) lastEvent(call *protocolpb.CallToolRequest, kind protocol.Kind, code string) {
	ctx, cancel := e.bounded()
	defer cancel()
	stream, err := e.rpc.CallTool(ctx, call)
	if err != nil {
		e.problem("CallTool failed: %v", err)
		return
	}
	event, err := stream.Recv()
	if err != nil {
		e.problem("CallTool of %s ended without an event: %v", call.GetTool(), err)
		return
	}
	e.wantError("CallTool of "+call.GetTool(), event, kind, code)
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		e.problem("after the event that ended a call of %s came something else (%v); expected the end with status OK", call.GetTool(), err)
	}
}

func (e *wireExam) wantError(what string, event *protocolpb.CallToolEvent, kind protocol.Kind, code string) {
	got := event.GetError()
	if protocol.Kind(got.GetKind()) != kind || got.GetCode() != code || got.GetMessage() == "" {
		e.problem("%s was answered with %v; expected an error of kind %v with the code %q and a message", what, event, kind, code)
	}
}

// unknownMethods calls methods of a later version.
func unknownMethods(e *wireExam) {
	for _, method := range []string{"/quoin.plugin.v1.Plugin/NoSuchMethod", "/no.such.Service/Method"} {
		ctx, cancel := e.bounded()
		err := e.conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{})
		if status.Code(err) != codes.Unimplemented {
			e.problem("the method %s, which does not exist, was answered with %v; expected the gRPC status UNIMPLEMENTED", method, err)
		}
		cancel()
	}
	e.alive("unknown methods")
}

// callStream makes several calls on one stream.
func callStream(e *wireExam) {
	ctx, cancel := e.bounded()
	defer cancel()
	stream, err := e.rpc.CallTools(ctx)
	if err != nil {
		e.problem("CallTools failed: %v", err)
		return
	}
	for number := uint64(1); number <= 3; number++ {
		request := &protocolpb.CallToolsRequest{Call: callMessage("no_such_tool", json.RawMessage(`{}`)), Number: number}
		if err := stream.Send(request); err != nil && !errors.Is(err, io.EOF) {
			e.problem("sending a call on a stream: %v", err)
			return
		}
		event, err := stream.Recv()
		if status.Code(err) == codes.Unimplemented && number == 1 {
			e.notExercised("CallTools is not implemented, so that hosts use CallTool")
			return
		}
		if err != nil {
			e.problem("call %d on a stream was not answered: %v", number, err)
			return
		}
		if event.GetNumber() != number {
			e.problem("an event of call %d on a stream has the number %d", number, event.GetNumber())
		}
		e.wantError("a call on a stream", event, protocol.KindInput, protocol.CodeUnknownTool)
	}
	if err := stream.CloseSend(); err != nil {
		e.problem("ending a stream of calls: %v", err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		e.problem("a stream that the host has ended goes on or fails (%v); expected its end with status OK", err)
	}
}

// shortTime is the time that calls get which have too little of it.
const shortTime = 50_000 // microseconds

// deadlines gives a call that does not end less time than it needs, in a way that
// only the plugin can keep.
func deadlines(e *wireExam) {
	c := e.declared.Waiting
	if c == nil {
		e.notExercised("waiting is not declared: a call that runs out of time")
		return
	}
	for _, s := range e.declared.Setup {
		e.made(s)
	}
	ctx, cancel := e.bounded()
	defer cancel()
	stream, err := e.rpc.CallTools(ctx)
	if err != nil {
		e.problem("CallTools failed: %v", err)
		return
	}
	request := &protocolpb.CallToolsRequest{Call: callMessage(c.Tool, c.Input), Number: 1, TimeoutUs: shortTime}
	if err := stream.Send(request); err != nil && !errors.Is(err, io.EOF) {
		e.problem("sending a call on a stream: %v", err)
		return
	}
	for {
		event, err := stream.Recv()
		if status.Code(err) == codes.Unimplemented {
			e.notExercised("CallTools is not implemented, so that hosts use CallTool")
			return
		}
		if err != nil {
			e.problem("a call that ran out of time was not answered: %v", err)
			return
		}
		if event.GetProgress() == nil {
			e.wantError("a call that ran out of time", event, protocol.KindTimeout, protocol.CodeTimeout)
			return
		}
	}
}

// levels are the words a log line may have as its level.
var levels = []string{"trace", "debug", "info", "warn", "warning", "error"}

// judgeLog looks at what the process has written to standard error.
func (e *wireExam) judgeLog() {
	for _, line := range e.said() {
		var r struct {
			Level   *string `json:"@level"`
			Message *string `json:"@message"`
		}
		if line == "" || line[0] != '{' {
			continue // shown as it is
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Message == nil {
			e.problem("the log line %.200q starts like one that a host can read, but is not an object with \"@message\" (%v)", line, err)
		} else if r.Level == nil || !slices.Contains(levels, *r.Level) {
			e.problem("the log line %.200q has no \"@level\" that a host knows: %v", line, levels)
		}
	}
}
