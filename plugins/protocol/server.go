package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// Register makes a gRPC server answer for s.
func Register(r grpc.ServiceRegistrar, s Service) {
	protocolpb.RegisterPluginServer(r, &server{service: s})
}

// streamWorkers is how many calls run on goroutines that are kept: their stacks
// have grown already, which of a new one takes a tenth of a call's time. Further
// calls get goroutines of their own.
const streamWorkers = 16

// ServerOptions are what a plugin's gRPC server must have, above all the limits
// of messages.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(MaxMessageBytes),
		grpc.MaxSendMsgSize(MaxMessageBytes),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(windowBytes),
	}
}

// server converts between the wire and a Service.
type server struct {
	protocolpb.UnimplementedPluginServer
	service Service
}

var _ protocolpb.PluginServer = (*server)(nil)

func (s *server) Describe(ctx context.Context, _ *protocolpb.DescribeRequest) (*protocolpb.DescribeResponse, error) {
	d, err := s.service.Describe(ctx)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return descriptionToWire(d), nil
}

func (s *server) Configure(ctx context.Context, r *protocolpb.ConfigureRequest) (*protocolpb.ConfigureResponse, error) {
	err := s.service.Configure(ctx, configurationFromWire(r))
	return &protocolpb.ConfigureResponse{Error: errorToWire(err)}, nil
}

func (s *server) CreateScope(ctx context.Context, r *protocolpb.CreateScopeRequest) (*protocolpb.CreateScopeResponse, error) {
	scope, err := s.service.CreateScope(ctx, r.GetNamespaceId(), runFromWire(r.GetRun()))
	if err != nil {
		return &protocolpb.CreateScopeResponse{Error: errorToWire(err)}, nil
	}
	return &protocolpb.CreateScopeResponse{Scope: scope}, nil
}

func (s *server) MapInput(ctx context.Context, r *protocolpb.MapInputRequest) (*protocolpb.MapInputResponse, error) {
	args := make([]json.RawMessage, len(r.GetArgs()))
	for i, a := range r.GetArgs() {
		args[i] = a
	}
	input, err := s.service.MapInput(ctx, r.GetNamespaceId(), runFromWire(r.GetRun()), r.GetMapper(), args)
	if err != nil {
		return &protocolpb.MapInputResponse{Error: errorToWire(err)}, nil
	}
	return &protocolpb.MapInputResponse{Input: input}, nil
}

func (s *server) CallTool(r *protocolpb.CallToolRequest, stream grpc.ServerStreamingServer[protocolpb.CallToolEvent]) error {
	return s.call(stream.Context(), r, stream.Send)
}

func (s *server) CallTools(stream grpc.BidiStreamingServer[protocolpb.CallToolsRequest, protocolpb.CallToolEvent]) error {
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.timedCall(stream.Context(), r, stream.Send); err != nil {
			return err
		}
	}
}

// timedCall runs one call of a stream of calls under its own deadline.
func (s *server) timedCall(ctx context.Context, r *protocolpb.CallToolsRequest, send func(*protocolpb.CallToolEvent) error) error {
	if d := time.Duration(r.GetTimeoutUs()) * time.Microsecond; d > 0 {
		bounded, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		ctx = bounded
	}
	return s.call(ctx, r.GetCall(), func(e *protocolpb.CallToolEvent) error {
		e.Number = r.GetNumber()
		return send(e)
	})
}

// call runs one call and sends its events. The stream allows one sender at a time
// and no sender after the call has ended; a tool may hand its progress function to
// other goroutines.
func (s *server) call(ctx context.Context, r *protocolpb.CallToolRequest, send func(*protocolpb.CallToolEvent) error) error {
	var mu sync.Mutex
	ended := false
	progress := func(v json.RawMessage) error {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return NewError(KindPlugin, CodeStopped, "progress reported after the call to %s ended", r.GetTool())
		}
		return send(&protocolpb.CallToolEvent{Event: &protocolpb.CallToolEvent_Progress{Progress: v}})
	}
	var inverse *Inverse
	req := callFromWire(r)
	req.RevertBy = func(i Inverse) {
		mu.Lock()
		defer mu.Unlock()
		inverse = &i
	}
	result, err := s.service.CallTool(ctx, req, progress)
	mu.Lock()
	defer mu.Unlock()
	ended = true
	last := lastEvent(r.GetTool(), result, err)
	if last.GetError() == nil {
		last.Inverse = inverseToWire(inverse)
	}
	return send(last)
}

// lastEvent is the event that ends a call. A result over the limit is an error
// of the plugin, told here so that the host never has to receive it.
func lastEvent(tool string, result json.RawMessage, err error) *protocolpb.CallToolEvent {
	if err == nil && len(result) > MaxMessageBytes-messageSlack {
		err = NewError(KindProtocol, CodeReplyTooLarge,
			"the result of %s has %d bytes; the limit is %d: return less, or a page at a time", tool, len(result), MaxMessageBytes-messageSlack)
	}
	if err != nil {
		return &protocolpb.CallToolEvent{Event: &protocolpb.CallToolEvent_Error{Error: errorToWire(err)}}
	}
	return &protocolpb.CallToolEvent{Event: &protocolpb.CallToolEvent_Result{Result: result}}
}

func (s *server) Health(ctx context.Context, _ *protocolpb.HealthRequest) (*protocolpb.HealthResponse, error) {
	h, err := s.service.Health(ctx)
	return &protocolpb.HealthResponse{Error: errorToWire(err), RunningCalls: int64(h.RunningCalls)}, nil
}

func (s *server) Drain(ctx context.Context, _ *protocolpb.DrainRequest) (*protocolpb.DrainResponse, error) {
	n, err := s.service.Drain(ctx)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &protocolpb.DrainResponse{RunningCalls: int64(n)}, nil
}
