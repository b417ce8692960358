package protocol

import (
	"context"
	"encoding/json"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// CallTool runs one tool. progress, which may be nil, is called in this
// goroutine for each progress event, in order, before CallTool returns.
func (c *Client) CallTool(ctx context.Context, req CallRequest, progress func(json.RawMessage)) (json.RawMessage, error) {
	if err := checkSize("the input of "+req.Tool, len(req.Input)+len(req.Run.Config)); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, transportError(ctx, ctx.Err())
	}
	result, err := c.callOnKeptStream(ctx, req, progress)
	if err == errNoCallTools {
		return c.callOnOwnStream(ctx, req, progress)
	}
	return result, err
}

// callOnKeptStream runs the call on a stream that earlier calls have used, if
// there is one, and leaves it for later ones.
func (c *Client) callOnKeptStream(ctx context.Context, req CallRequest, progress func(json.RawMessage)) (json.RawMessage, error) {
	stream, err := c.streams.take(ctx)
	if err == errNoCallTools {
		return nil, err
	}
	if err != nil {
		return nil, transportError(ctx, err)
	}
	uncancel := context.AfterFunc(ctx, stream.cancel)
	result, ended, err := stream.call(ctx, req, progress)
	if inTime := uncancel(); inTime && ended {
		c.streams.put(stream)
	} else {
		stream.cancel()
	}
	if !ended && status.Code(err) == codes.Unimplemented {
		c.streams.absent.Store(true)
		return nil, errNoCallTools
	}
	if !ended {
		return nil, streamError(ctx, req.Tool, err)
	}
	return result, err
}

// callOnOwnStream is for plugins that do not implement CallTools.
func (c *Client) callOnOwnStream(ctx context.Context, req CallRequest, progress func(json.RawMessage)) (json.RawMessage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // frees the stream on every path
	stream, err := c.rpc.CallTool(ctx, callToWire(req))
	if err != nil {
		return nil, transportError(ctx, err)
	}
	result, ended, err := receive(ctx, stream.Recv, req.Tool, req.RevertBy, progress)
	if !ended {
		return nil, streamError(ctx, req.Tool, err)
	}
	return result, err
}
