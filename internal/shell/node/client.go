package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/quoinhq/quoin/internal/mutualtls"
	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/node/nodepb"
	"github.com/quoinhq/quoin/internal/text"
)

// Node is a node that this gateway is enrolled at. Its methods may be called from any
// goroutine.
type Node struct {
	enrolment  enrolmentFile
	connection *grpc.ClientConn
	client     nodepb.NodeClient
}

// maxReplyBytes bounds a message of a node.
const maxReplyBytes = 256 << 10

// retries are the pauses before the next attempt to connect.
var retries = backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: 5 * time.Second}

// connect prepares a connection, which comes about when it is used.
func connect(e enrolmentFile) (*Node, error) {
	id, err := mutualtls.Parse([]byte(e.Key))
	if err != nil {
		return nil, err
	}
	pinned, err := mutualtls.ParseFingerprint(e.Fingerprint)
	if err != nil {
		return nil, err
	}
	accept := func(f mutualtls.Fingerprint) error {
		if f != pinned {
			return mutualtls.ErrStranger
		}
		return nil
	}
	c, err := grpc.NewClient("passthrough:///"+e.Address,
		grpc.WithTransportCredentials(confirmed{credentials.NewTLS(id.TLS(accept))}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReplyBytes)), grpc.WithMaxHeaderListSize(maxHeaderBytes),
		grpc.WithInitialWindowSize(windowBytes), grpc.WithInitialConnWindowSize(windowBytes),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingTime, Timeout: pingTimeout}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: retries, MinConnectTimeout: handshakeTimeout}),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithNoProxy(),
	)
	if err != nil {
		return nil, err
	}
	return &Node{e, c, nodepb.NewNodeClient(c)}, nil
}

// confirmed are credentials whose handshake ends once the node has accepted the key of
// this side. Under TLS 1.3 a client is done before the server has read its certificate
// (RFC 8446, section 2): a write that follows at once may fail with a broken pipe, and
// the alert that says why is never read.
type confirmed struct {
	credentials.TransportCredentials
}

func (c confirmed) Clone() credentials.TransportCredentials {
	return confirmed{c.TransportCredentials.Clone()}
}

func (c confirmed) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // fails only if it is closed already
	defer stop()
	first := make([]byte, 1) // of the settings, with which a server of HTTP/2 starts
	if _, err := io.ReadFull(conn, first); err != nil {
		_ = conn.Close() // what was read says why
		return nil, nil, err
	}
	return &resumed{conn, first}, info, nil
}

// resumed is a connection whose first byte has been read.
type resumed struct {
	net.Conn
	first []byte
}

func (r *resumed) Read(p []byte) (int, error) {
	if len(r.first) == 0 || len(p) == 0 {
		return r.Conn.Read(p)
	}
	n := copy(p, r.first)
	r.first = r.first[n:]
	return n, nil
}

// Close ends the connection, and with it what runs on the node for it.
func (n *Node) Close() error { return n.connection.Close() }

// Name is the name that the gateway has for the node.
func (n *Node) Name() string { return n.enrolment.Name }

// Description is what a node says of itself.
type Description struct {
	Version  string `json:"version"`
	System   string `json:"system"`
	Host     string `json:"host"` // where its commands run: sandbox or gateway
	Security string `json:"security"`
	Ask      string `json:"ask"`
	Tier     string `json:"tier,omitempty"` // of its sandbox
}

// Describe asks the node what it is.
func (n *Node) Describe(ctx context.Context) (*Description, error) {
	m, err := n.client.Describe(ctx, &nodepb.DescribeRequest{})
	if err != nil {
		return nil, n.failure(err)
	}
	return &Description{m.GetVersion(), m.GetSystem(), m.GetHost(), m.GetSecurity(), m.GetAsk(), m.GetTier()}, nil
}

// judgeTime bounds a judgement whose caller has no deadline.
const judgeTime = 30 * time.Second

// Judge asks the node what it would do with a job.
func (n *Node) Judge(ctx context.Context, j Job) (*Verdict, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, judgeTime)
	defer cancel()
	m, err := n.client.Judge(ctx, &nodepb.JudgeRequest{Job: j.message()})
	if err != nil {
		return nil, n.failure(err)
	}
	v := verdictOf(m)
	return &v, nil
}

// Launcher runs the job of a node in the place of what the command says: only the
// terminal and the network of the command count.
func (n *Node) Launcher(j Job) execution.Launcher { return launcher{n, j} }

type launcher struct {
	node *Node
	job  Job
}

func (l launcher) Start(ctx context.Context, c execution.Command) (execution.Process, error) {
	return l.node.Start(ctx, l.job, c.Terminal, c.Network)
}

// ErrUnreachable wraps why a node cannot be asked.
var ErrUnreachable = errors.New("cannot be reached")

// ErrBusy is about a node on which too much runs.
var ErrBusy = errors.New("the node is busy")

// failure is the error of a request, with what it means for the caller.
func (n *Node) failure(err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	message := text.Printable(text.Shorten(s.Message(), maxMessageBytes))
	var kind error
	switch s.Code() {
	case codes.PermissionDenied:
		kind = ErrRefused
	case codes.FailedPrecondition:
		kind = ErrApproval
	case codes.ResourceExhausted:
		kind = ErrBusy
	case codes.Unauthenticated, codes.Unavailable:
		kind = ErrUnreachable
	case codes.Canceled, codes.DeadlineExceeded:
		kind = context.Canceled
		if s.Code() == codes.DeadlineExceeded {
			kind = context.DeadlineExceeded
		}
	default:
		return fmt.Errorf("node %s: %s", n.enrolment.Name, message)
	}
	return &requestError{n.enrolment.Name, message, kind}
}

// requestError is what a node answers, or why it does not.
type requestError struct {
	node, message string
	kind          error
}

func (e *requestError) Error() string {
	if e.kind == ErrUnreachable {
		return "node " + e.node + " cannot be reached: " + e.message
	}
	return "node " + e.node + ": " + e.message
}

func (e *requestError) Unwrap() error { return e.kind }
