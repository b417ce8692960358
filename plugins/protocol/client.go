package protocol

import (
	"context"
	"encoding/json"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// Client is the host's side of the protocol on one connection. It is safe for
// concurrent use. Every error it returns is an *[Error]. It sets no deadlines.
type Client struct {
	rpc     protocolpb.PluginClient
	streams callStreams
}

// NewClient returns a Client that speaks over cc. The caller keeps cc.
func NewClient(cc grpc.ClientConnInterface) *Client {
	rpc := protocolpb.NewPluginClient(cc)
	return &Client{rpc: rpc, streams: callStreams{rpc: rpc}}
}

// brokerMethod starts every method of go-plugin's broker, by which the two sides
// announce further connections to each other.
const brokerMethod = "/plugin.GRPCBroker/"

var errBroker = status.Error(codes.PermissionDenied, "this protocol has no broker")

// DialOptions are what a host's connection must have: limits of messages, so that
// a larger reply is refused before it is read, and no broker. A host would
// remember every announcement of a plugin, however many come.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(MaxMessageBytes),
			grpc.MaxCallSendMsgSize(MaxMessageBytes),
		),
		grpc.WithChainStreamInterceptor(withoutBroker),
		grpc.WithInitialWindowSize(windowBytes),
		grpc.WithInitialConnWindowSize(windowBytes),
	}
}

// withoutBroker starts every stream but the broker's.
func withoutBroker(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, begin grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
	if strings.HasPrefix(method, brokerMethod) {
		return nil, errBroker
	}
	return begin(ctx, d, cc, method, o...)
}

// Describe asks the plugin who it is and what it offers.
func (c *Client) Describe(ctx context.Context) (*Description, error) {
	r, err := c.rpc.Describe(ctx, &protocolpb.DescribeRequest{})
	if err != nil {
		return nil, transportError(ctx, err)
	}
	d, e := descriptionFromWire(r)
	if e != nil {
		return nil, e
	}
	return d, nil
}

// Configure hands the plugin its configuration. Under version 1 there must be no
// secrets in it.
func (c *Client) Configure(ctx context.Context, conf Configuration) error {
	req, err := configurationToWire(conf)
	if err != nil {
		return err
	}
	r, err := c.rpc.Configure(ctx, req)
	if err != nil {
		return transportError(ctx, err)
	}
	return reported(r.GetError())
}

// CreateScope returns the JSON of a namespace's scope for one run.
func (c *Client) CreateScope(ctx context.Context, namespace string, run RunContext) (json.RawMessage, error) {
	r, err := c.rpc.CreateScope(ctx, &protocolpb.CreateScopeRequest{NamespaceId: namespace, Run: runToWire(run)})
	if err != nil {
		return nil, transportError(ctx, err)
	}
	if err := reported(r.GetError()); err != nil {
		return nil, err
	}
	return required(r.GetScope(), "the scope of namespace "+namespace)
}

// MapInput returns the tool input for the arguments of a namespace call.
func (c *Client) MapInput(ctx context.Context, namespace string, run RunContext, mapper string, args []json.RawMessage) (json.RawMessage, error) {
	req := &protocolpb.MapInputRequest{NamespaceId: namespace, Run: runToWire(run), Mapper: mapper, Args: make([][]byte, len(args))}
	size := len(run.Config)
	for i, a := range args {
		req.Args[i] = a
		size += len(a) + 8
	}
	if err := checkSize("the list of arguments", size); err != nil {
		return nil, err
	}
	r, err := c.rpc.MapInput(ctx, req)
	if err != nil {
		return nil, transportError(ctx, err)
	}
	if err := reported(r.GetError()); err != nil {
		return nil, err
	}
	return required(r.GetInput(), "the input mapped by namespace "+namespace)
}

// Health asks whether the plugin can take calls.
func (c *Client) Health(ctx context.Context) (HealthStatus, error) {
	r, err := c.rpc.Health(ctx, &protocolpb.HealthRequest{})
	if err != nil {
		return HealthStatus{}, transportError(ctx, err)
	}
	return HealthStatus{RunningCalls: int(r.GetRunningCalls())}, reported(r.GetError())
}

// Drain asks the plugin to refuse new calls and waits for the running ones
// until shortly before ctx ends. It returns how many had not ended.
func (c *Client) Drain(ctx context.Context) (int, error) {
	r, err := c.rpc.Drain(ctx, &protocolpb.DrainRequest{})
	if err != nil {
		return 0, transportError(ctx, err)
	}
	return int(r.GetRunningCalls()), nil
}
