package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// maxIdleStreams bounds the streams that wait for a call.
const maxIdleStreams = 32

// errNoCallTools means that the plugin does not implement CallTools.
var errNoCallTools = errors.New("the plugin does not keep call streams")

// callStreams are the streams of one connection on which calls are made, each
// one call at a time. They end with the connection.
type callStreams struct {
	rpc    protocolpb.PluginClient
	absent atomic.Bool // the plugin does not keep call streams

	mu   sync.Mutex
	idle []*callStream // the one used last is taken first
}

// callStream is one of them. Cancelling it cancels the call on it.
type callStream struct {
	grpc.BidiStreamingClient[protocolpb.CallToolsRequest, protocolpb.CallToolEvent]
	cancel context.CancelFunc
	number uint64 // of the newest call
}

// take returns a stream without a call, which the caller gives back or cancels.
// It fails when ctx ends: opening a stream waits for as long as the plugin allows
// no more of them.
func (s *callStreams) take(ctx context.Context) (*callStream, error) {
	if s.absent.Load() {
		return nil, errNoCallTools
	}
	if stream := s.takeIdle(); stream != nil {
		return stream, nil
	}
	own, cancel := context.WithCancel(context.Background()) // of no single call
	unwatch := context.AfterFunc(ctx, cancel)
	stream, err := s.rpc.CallTools(own)
	if inTime := unwatch(); err == nil && !inTime {
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return &callStream{BidiStreamingClient: stream, cancel: cancel}, nil
}

func (s *callStreams) takeIdle() *callStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.idle)
	if n == 0 {
		return nil
	}
	stream := s.idle[n-1]
	s.idle = s.idle[:n-1]
	return stream
}

// put keeps a stream for the next call.
func (s *callStreams) put(stream *callStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.idle) == maxIdleStreams {
		stream.cancel()
		return
	}
	s.idle = append(s.idle, stream)
}

// call makes one call. Unless it has ended, the stream is of no further use.
func (s *callStream) call(ctx context.Context, req CallRequest, progress func(json.RawMessage)) (result json.RawMessage, ended bool, err error) {
	s.number++
	m := &protocolpb.CallToolsRequest{Call: callToWire(req), Number: s.number}
	if deadline, ok := ctx.Deadline(); ok {
		m.TimeoutUs = max(time.Until(deadline).Microseconds(), 1)
	}
	// A stream that has ended says so by io.EOF, and why when it is read.
	if err := s.Send(m); err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	return receive(ctx, s.next, req.Tool, req.RevertBy, progress)
}

// next receives an event of the newest call. What a plugin still sends of an
// earlier one must not become the answer to another.
func (s *callStream) next() (*protocolpb.CallToolEvent, error) {
	e, err := s.Recv()
	if err == nil && e.GetNumber() != s.number {
		err = NewError(KindProtocol, CodeMalformedReply, "an event is of call %d of its stream, not of call %d", e.GetNumber(), s.number)
	}
	return e, err
}
