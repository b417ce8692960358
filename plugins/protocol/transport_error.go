package protocol

import (
	"context"
	"encoding/json"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// transportError classifies a failed RPC by its status code. The caller's own
// context decides first: gRPC reports a local deadline and a remote one alike.
func transportError(ctx context.Context, err error) *Error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return NewError(KindTimeout, CodeTimeout, "the plugin did not answer in time")
	case ctx.Err() != nil:
		return NewError(KindCancelled, CodeCancelled, "the call was cancelled")
	}
	text := status.Convert(err).Message()
	switch status.Code(err) {
	case codes.DeadlineExceeded:
		return NewError(KindTimeout, CodeTimeout, "the plugin did not answer in time")
	case codes.Canceled, codes.Unavailable:
		return NewError(KindProcess, CodeCrashed, "the connection to the plugin was lost")
	case codes.ResourceExhausted:
		return NewError(KindProtocol, CodeReplyTooLarge, "a message was over the limit of %d bytes: %s", MaxMessageBytes, text)
	case codes.Unimplemented:
		return NewError(KindProtocol, CodeMalformedReply, "the plugin does not implement the Quoin protocol: %s", text)
	default:
		return NewError(KindProtocol, CodeMalformedReply, "the plugin broke the protocol: %s", text)
	}
}

// checkSize refuses a request that would not fit a message.
func checkSize(what string, size int) error {
	if size > MaxMessageBytes-messageSlack {
		return NewError(KindInput, CodeRequestTooLarge, "%s has %d bytes; the limit is %d", what, size, MaxMessageBytes-messageSlack)
	}
	return nil
}

// required returns b if it is JSON and an error that names what otherwise.
func required(b []byte, what string) (json.RawMessage, error) {
	v, err := checkedJSON(b, what)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, NewError(KindProtocol, CodeMalformedReply, "%s is missing", what)
	}
	return v, nil
}

// reported turns a reply's error field into an error value.
func reported(w *protocolpb.Error) error {
	if w == nil {
		return nil
	}
	return errorFromWire(w)
}

// messageSlack is what a message may hold besides its JSON.
const messageSlack = 64 << 10
