package main

import (
	"context"
	_ "embed"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

//go:embed v1.txtpb
var version1 []byte

// answer returns the replies to a request, each a message of the method's output type as text.
type answer func(request *dynamicpb.Message) []string

// service is the service of version 1 with the methods that are answered.
func service(answers map[protoreflect.Name]answer) (*grpc.ServiceDesc, error) {
	var text descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal(version1, &text); err != nil {
		return nil, err
	}
	file, err := protodesc.NewFile(&text, nil)
	if err != nil {
		return nil, err
	}
	plugin := file.Services().Get(0)
	desc := &grpc.ServiceDesc{ServiceName: string(plugin.FullName())}
	for i := range plugin.Methods().Len() {
		m := plugin.Methods().Get(i)
		name, answer := string(m.Name()), answers[m.Name()]
		switch {
		case answer == nil:
		case m.IsStreamingServer():
			desc.Streams = append(desc.Streams, grpc.StreamDesc{StreamName: name, ServerStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
				return serve(m, answer, s.RecvMsg, func(reply *dynamicpb.Message) error { return s.SendMsg(reply) })
			}})
		default:
			desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (reply any, err error) {
				err = serve(m, answer, read, func(r *dynamicpb.Message) error { reply = r; return nil })
				return reply, err
			}})
		}
	}
	return desc, nil
}

// serve reads a request of a method and sends the replies. It refuses a request with
// fields that version 1 does not have.
func serve(m protoreflect.MethodDescriptor, answer answer, read func(any) error, send func(*dynamicpb.Message) error) error {
	request := dynamicpb.NewMessage(m.Input())
	if err := read(request); err != nil {
		return err
	}
	if n := len(request.GetUnknown()); n > 0 {
		return status.Errorf(codes.InvalidArgument, "%s came with %d bytes of unknown fields", m.Input().FullName(), n)
	}
	for _, text := range answer(request) {
		reply := dynamicpb.NewMessage(m.Output())
		if err := prototext.Unmarshal([]byte(text), reply); err != nil {
			return status.Errorf(codes.Internal, "a reply to %s: %v", m.FullName(), err)
		}
		if err := send(reply); err != nil {
			return err
		}
	}
	return nil
}

func field(m *dynamicpb.Message, name protoreflect.Name) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(name))
}
