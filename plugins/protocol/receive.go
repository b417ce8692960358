package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// receive reads the events of one call. It has ended if its last event was one
// that the protocol knows; else err is the stream's.
func receive(ctx context.Context, recv func() (*protocolpb.CallToolEvent, error), tool string, revertBy func(Inverse), progress func(json.RawMessage)) (result json.RawMessage, ended bool, err error) {
	for {
		event, err := recv()
		if err != nil {
			return nil, false, err
		}
		switch e := event.GetEvent().(type) {
		case *protocolpb.CallToolEvent_Result:
			result, err := required(e.Result, "the result of "+tool)
			if w := event.GetInverse(); w != nil && revertBy != nil {
				revertBy(inverseFromWire(w))
			}
			return result, true, err
		case *protocolpb.CallToolEvent_Error:
			if ctx.Err() != nil {
				return nil, true, transportError(ctx, ctx.Err()) // the tool only noticed too
			}
			return nil, true, errorFromWire(e.Error)
		case *protocolpb.CallToolEvent_Progress:
			v, err := required(e.Progress, "the progress of "+tool)
			if err != nil {
				return nil, false, err
			}
			if progress != nil {
				progress(v)
			}
		default:
			return nil, false, NewError(KindProtocol, CodeMalformedReply, "tool %s sent an event of an unknown type", tool)
		}
	}
}

// streamError is transportError for a call stream, which must not end without
// a result or an error.
func streamError(ctx context.Context, tool string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, io.EOF) {
		return NewError(KindProtocol, CodeMalformedReply, "tool %s ended its stream without a result", tool)
	}
	return transportError(ctx, err)
}
