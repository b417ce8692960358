package protocol

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// ServeHost answers what the plugin asks of its host, until the connection or ctx
// ends, which is no error. It takes one request after the other: what a plugin
// floods waits on the plugin's side of the connection. A plugin that has no use for
// a host ends it with errors.ErrUnsupported.
func (c *Client) ServeHost(ctx context.Context, s Storage) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // frees the stream on every path
	stream, err := c.rpc.HostServices(ctx)
	for err == nil {
		var r *protocolpb.HostRequest
		if r, err = stream.Recv(); err == nil {
			err = stream.Send(answer(stream.Context(), s, r))
		}
	}
	switch code := status.Code(err); {
	case ctx.Err() != nil, errors.Is(err, io.EOF), code == codes.Unavailable, code == codes.Canceled:
		return nil
	case code == codes.Unimplemented:
		return errors.ErrUnsupported
	}
	return transportError(ctx, err)
}

// answer answers one request.
func answer(ctx context.Context, s Storage, r *protocolpb.HostRequest) *protocolpb.HostReply {
	reply := &protocolpb.HostReply{Number: r.GetNumber()}
	var err error
	switch q := r.GetRequest().(type) {
	case *protocolpb.HostRequest_Get:
		var e StorageEntry
		if e, err = s.Get(ctx, q.Get.GetKey()); err == nil && e.Revision != 0 {
			reply.Entry = &protocolpb.StorageEntry{Value: e.Value, Revision: e.Revision}
		}
	case *protocolpb.HostRequest_Set:
		var revision uint64
		revision, err = s.Set(ctx, q.Set.GetKey(), q.Set.GetValue(), q.Set.Revision)
		reply.Entry = &protocolpb.StorageEntry{Revision: revision}
	case *protocolpb.HostRequest_Delete:
		err = s.Delete(ctx, q.Delete.GetKey(), q.Delete.Revision)
	case *protocolpb.HostRequest_List:
		reply.Keys = &protocolpb.StorageKeys{}
		reply.Keys.Keys, reply.Keys.More, err = s.List(ctx, q.List.GetPrefix(), q.List.GetAfter(), int(q.List.GetLimit()))
	default:
		err = NewError(KindProcess, CodeNoHostService, "this host does not know what was asked for")
	}
	if err != nil {
		return &protocolpb.HostReply{Number: r.GetNumber(), Error: errorToWire(err)}
	}
	return reply
}
