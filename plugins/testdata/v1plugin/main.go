// Command v1plugin is a plugin as it was built before protocol version 2: it has
// nothing but the messages of version 1, frozen in v1pb, and go-plugin. A host that
// sends it anything that version 1 does not have is told so.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/quoinhq/quoin/plugins/testdata/v1plugin/v1pb"
)

func main() {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: 1, MagicCookieKey: "QUOIN_PLUGIN", MagicCookieValue: "4e9d1f6c-quoin-plugin",
		},
		Plugins: goplugin.PluginSet{"quoin": &served{}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.UnaryInterceptor(onlyKnown))...)
		},
	})
}

// onlyKnown refuses requests with fields that version 1 does not have.
func onlyKnown(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if m, ok := req.(proto.Message); ok {
		if err := known(m.ProtoReflect()); err != nil {
			return nil, err
		}
	}
	return handle(ctx, req)
}

func known(m protoreflect.Message) error {
	if n := len(m.GetUnknown()); n > 0 {
		return status.Errorf(codes.InvalidArgument, "%s came with %d bytes of unknown fields", m.Descriptor().FullName(), n)
	}
	return nil
}

type served struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (*served) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	v1pb.RegisterPluginServer(s, &plugin{})
	return nil
}

func (*served) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("a plugin is no client")
}

// plugin has a tool that returns its input and one that fails.
type plugin struct {
	v1pb.UnimplementedPluginServer
	config json.RawMessage
}

func (p *plugin) Describe(context.Context, *v1pb.DescribeRequest) (*v1pb.DescribeResponse, error) {
	tool := func(name string) *v1pb.Tool {
		return &v1pb.Tool{Name: name, Description: "Does " + name + ".", Parameters: []byte(`{"type":"object"}`), ReadOnly: true}
	}
	return &v1pb.DescribeResponse{
		Id: "old", Version: "1.0.0", Tools: []*v1pb.Tool{tool("echo"), tool("fail"), tool("config")},
		Namespaces:   []*v1pb.Namespace{{Id: "old", GlobalName: "Old", Description: "Old.", RequiredTools: []string{"echo"}}},
		Capabilities: &v1pb.Capabilities{BeforeToolCall: true},
	}, nil
}

func (p *plugin) Configure(_ context.Context, r *v1pb.ConfigureRequest) (*v1pb.ConfigureResponse, error) {
	p.config = r.GetConfig()
	return &v1pb.ConfigureResponse{}, nil
}

func (p *plugin) CreateScope(context.Context, *v1pb.CreateScopeRequest) (*v1pb.CreateScopeResponse, error) {
	return &v1pb.CreateScopeResponse{Scope: []byte(`{"kind":"object","entries":{"echo":{"kind":"call","tool":"echo"}}}`)}, nil
}

func (p *plugin) CallTool(r *v1pb.CallToolRequest, s grpc.ServerStreamingServer[v1pb.CallToolEvent]) error {
	if err := known(r.ProtoReflect()); err != nil {
		return err
	}
	switch r.GetTool() {
	case "fail":
		return s.Send(&v1pb.CallToolEvent{Event: &v1pb.CallToolEvent_Error{Error: &v1pb.Error{
			Kind: v1pb.ErrorKind_ERROR_KIND_TOOL, Code: "not_found", Message: "no such thing", Details: []byte(`{"id":7}`),
		}}})
	case "config":
		return s.Send(&v1pb.CallToolEvent{Event: &v1pb.CallToolEvent_Result{Result: p.config}})
	}
	if err := s.Send(&v1pb.CallToolEvent{Event: &v1pb.CallToolEvent_Progress{Progress: []byte(`"half"`)}}); err != nil {
		return err
	}
	return s.Send(&v1pb.CallToolEvent{Event: &v1pb.CallToolEvent_Result{Result: r.GetInput()}})
}

func (p *plugin) Health(context.Context, *v1pb.HealthRequest) (*v1pb.HealthResponse, error) {
	return &v1pb.HealthResponse{}, nil
}

func (p *plugin) Drain(context.Context, *v1pb.DrainRequest) (*v1pb.DrainResponse, error) {
	return &v1pb.DrainResponse{}, nil
}

func (p *plugin) BeforeToolCall(context.Context, *v1pb.BeforeToolCallRequest) (*v1pb.BeforeToolCallResponse, error) {
	return &v1pb.BeforeToolCallResponse{Block: true, Reason: "not today"}, nil
}
