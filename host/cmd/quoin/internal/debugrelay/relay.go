package debugrelay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// socketName is the file in a relay's folder that has the path of the socket.
const socketName = ".debug-socket"

// ServeIfRelay serves, and does not return, if a host has started this process as a
// relay. Call it first in main.
func ServeIfRelay() {
	if os.Getenv(protocol.CookieKey) != protocol.CookieValue {
		return
	}
	socket, err := os.ReadFile(filepath.Join(os.Getenv(protocol.EnvPluginDir), socketName))
	if err != nil {
		return // a plugin, but not this one
	}
	if err := serve(string(socket)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve passes calls on to the plugin at a socket until the host has had enough.
func serve(socket string) error {
	conn, err := grpc.NewClient("unix:"+socket, append(protocol.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{})))...)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is the host's, however it comes
		os.Exit(0)
	}()
	versions := map[int]goplugin.PluginSet{}
	for v := protocol.MinVersion; v <= protocol.Version; v++ {
		versions[v] = goplugin.PluginSet{protocol.ServiceName: nothing{}}
	}
	r := &relay{conn}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  protocol.Handshake(),
		VersionedPlugins: versions,
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			opts = append(opts, protocol.ServerOptions()...)
			return grpc.NewServer(append(opts, grpc.ForceServerCodec(codec{}), grpc.UnknownServiceHandler(r.forward))...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr, JSONFormat: true}),
	})
	return conn.Close()
}

// nothing registers nothing: calls of services without a registration are
// what a relay passes on.
type nothing struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (nothing) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return nil }

func (nothing) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("a relay is no host")
}

// relay passes calls on over a connection.
type relay struct{ conn *grpc.ClientConn }

// forward passes on one call. That the host drains its plugin is for the relay alone: the
// plugin stays.
func (r *relay) forward(_ any, in grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(in) // a server's streams always have one
	if strings.HasSuffix(method, "/Drain") {
		if err := in.RecvMsg(new(frame)); err != nil {
			return err
		}
		return in.SendMsg(new(frame)) // nothing is left
	}
	ctx, cancel := context.WithCancel(in.Context())
	defer cancel()
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	out, err := r.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	go func() {
		if upstream(in, out) != nil {
			cancel()
		}
	}()
	for {
		var f frame
		if err := out.RecvMsg(&f); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := in.SendMsg(&f); err != nil {
			return err
		}
	}
}

// upstream passes on what the host sends.
func upstream(in grpc.ServerStream, out grpc.ClientStream) error {
	for {
		var f frame
		if err := in.RecvMsg(&f); errors.Is(err, io.EOF) {
			return out.CloseSend()
		} else if err != nil {
			return err
		}
		if err := out.SendMsg(&f); err != nil {
			return nil // out ends, and says why
		}
	}
}

// frame is a message that the relay does not decode.
type frame []byte

// codec passes frames as they are; what go-plugin itself says is protobuf.
type codec struct{}

// Name returns the name of the encoding on the wire.
func (codec) Name() string { return "proto" }

// Marshal returns the message's bytes.
func (codec) Marshal(v any) ([]byte, error) {
	switch m := v.(type) {
	case *frame:
		return *m, nil
	case proto.Message:
		return proto.Marshal(m)
	}
	return nil, fmt.Errorf("%T is no message", v)
}

// Unmarshal keeps the bytes, or reads them.
func (codec) Unmarshal(b []byte, v any) error {
	switch m := v.(type) {
	case *frame:
		*m = append(frame(nil), b...)
		return nil
	case proto.Message:
		return proto.Unmarshal(b, m)
	}
	return fmt.Errorf("%T is no message", v)
}
