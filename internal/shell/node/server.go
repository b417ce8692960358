package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/quoinhq/quoin/internal/mutualtls"
	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/node/nodepb"
	"github.com/quoinhq/quoin/internal/shell/settings"
	"github.com/quoinhq/quoin/internal/text"
)

// Options say what a node is.
type Options struct {
	Home *Home
	// Settings are the policy of the node. Host says whether Launcher is a sandbox.
	Settings *settings.Settings
	// Launcher starts what may run.
	Launcher execution.Launcher
	// Workdir is the directory of commands that do not name one.
	Workdir string
	// Version and Tier are for those who look after the node.
	Version, Tier string
	Log           *slog.Logger
}

// Server is a node. Call Serve once.
type Server struct {
	nodepb.UnimplementedNodeServer

	options  Options
	identity *mutualtls.Identity
	policy   *policy

	mu     sync.Mutex
	counts map[mutualtls.Fingerprint]int64 // processes of each gateway
}

// NewServer returns a node, whose key it makes if there is no key yet.
func NewServer(o Options) (*Server, error) {
	id, err := o.Home.identity()
	if err != nil {
		return nil, err
	}
	p, err := newPolicy(o.Settings, id.Fingerprint(), o.Workdir)
	if err != nil {
		return nil, err
	}
	return &Server{options: o, identity: id, policy: p, counts: map[mutualtls.Fingerprint]int64{}}, nil
}

// Fingerprint is that of the node's key.
func (s *Server) Fingerprint() string { return s.identity.Fingerprint().String() }

// The bounds of connections. A peer that is gone is noticed after pingTime and pingTimeout
// at the latest.
const (
	maxConnections   = 64
	maxStreams       = 256 // of a connection
	handshakeTimeout = 10 * time.Second
	strangerTime     = 30 * time.Second // to redeem an invitation
	pingTime         = 10 * time.Second
	pingTimeout      = 5 * time.Second
	windowBytes      = 64 << 10 // of a stream, and of a connection
	maxHeaderBytes   = 16 << 10
)

// Serve answers gateways until ctx ends; then it ends what runs, and returns.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	g := grpc.NewServer(
		grpc.Creds(visits{credentials.NewTLS(s.identity.TLS(s.admit)), s.options.Home}),
		grpc.UnaryInterceptor(s.unary), grpc.StreamInterceptor(s.stream),
		grpc.MaxRecvMsgSize(maxRequestBytes), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ConnectionTimeout(handshakeTimeout), grpc.WaitForHandlers(true),
		grpc.InitialWindowSize(windowBytes), grpc.InitialConnWindowSize(windowBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingTime, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingTime / 2, PermitWithoutStream: true}),
	)
	nodepb.RegisterNodeServer(g, s)
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		g.Stop()
	})
	err := g.Serve(netutil.LimitListener(l, maxConnections))
	if !stop() {
		<-stopped
	}
	if ctx.Err() != nil && (err == nil || errors.Is(err, grpc.ErrServerStopped)) {
		return nil
	}
	return err
}

// admit lets a key into a connection: that of an enrolled gateway, or any as long as
// there is an invitation, to redeem it.
func (s *Server) admit(f mutualtls.Fingerprint) error {
	_, err := s.options.Home.gateway(f)
	if err == nil || errors.Is(err, mutualtls.ErrStranger) && s.options.Home.invites() {
		return nil
	}
	s.options.Log.Warn("a connection was refused", "fingerprint", f.String(), "reason", err)
	return err
}

// visits are credentials by which a stranger stays for strangerTime: those that an
// invitation lets in must not keep the connections that gateways need.
type visits struct {
	credentials.TransportCredentials
	home *Home
}

// ServerHandshake ends the connection in time, unless the other side is enrolled by then.
func (v visits) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := v.TransportCredentials.ServerHandshake(raw)
	t, ok := info.(credentials.TLSInfo)
	if err != nil || !ok || len(t.State.PeerCertificates) != 1 {
		return conn, info, err
	}
	f := mutualtls.FingerprintOf(t.State.PeerCertificates[0])
	if _, err := v.home.gateway(f); err != nil {
		time.AfterFunc(strangerTime, func() {
			if _, err := v.home.gateway(f); err != nil {
				_ = raw.Close() // it may have ended
			}
		})
	}
	return conn, info, nil
}

type callerKey struct{}

// caller is the enrolled gateway that a request comes from.
func caller(ctx context.Context) *Gateway {
	g, _ := ctx.Value(callerKey{}).(*Gateway)
	return g
}

// authenticate finds who sends a request. Each request is held against the enrolments of
// now, whatever the connection was admitted by.
func (s *Server) authenticate(ctx context.Context) (context.Context, error) {
	f, err := peerFingerprint(ctx)
	if err != nil {
		return nil, err
	}
	g, err := s.options.Home.gateway(f)
	if err != nil {
		s.options.Log.Warn("a request was refused", "fingerprint", f.String(), "reason", err)
		return nil, status.Error(codes.Unauthenticated, "this gateway is not enrolled at the node, or no longer")
	}
	return context.WithValue(ctx, callerKey{}, g), nil
}

// peerFingerprint is that of the key which the other side has proved to have.
func peerFingerprint(ctx context.Context) (f mutualtls.Fingerprint, err error) {
	if p, ok := peer.FromContext(ctx); ok {
		if t, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(t.State.PeerCertificates) == 1 {
			return mutualtls.FingerprintOf(t.State.PeerCertificates[0]), nil
		}
	}
	return f, status.Error(codes.Unauthenticated, "the connection has no key")
}

func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if info.FullMethod != nodepb.Node_Enrol_FullMethodName {
		var err error
		if ctx, err = s.authenticate(ctx); err != nil {
			return nil, err
		}
	}
	return handle(ctx, req)
}

// authenticated is a stream whose context knows the caller.
type authenticated struct {
	grpc.ServerStream
	ctx context.Context
}

func (a authenticated) Context() context.Context { return a.ctx }

func (s *Server) stream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	ctx, err := s.authenticate(stream.Context())
	if err != nil {
		return err
	}
	return handle(srv, authenticated{stream, ctx})
}

// Enrol redeems an invitation.
func (s *Server) Enrol(ctx context.Context, m *nodepb.EnrolRequest) (*nodepb.EnrolReply, error) {
	f, err := peerFingerprint(ctx)
	if err != nil {
		return nil, err
	}
	name := text.Printable(text.Shorten(m.GetGateway(), maxNameBytes))
	if err := s.options.Home.redeem(m.GetSecret(), f, name); err != nil {
		s.options.Log.Warn("an enrolment was refused", "fingerprint", f.String(), "reason", err)
		if errors.Is(err, fs.ErrExist) {
			return nil, status.Error(codes.AlreadyExists, "this key is enrolled already")
		}
		return nil, status.Error(codes.PermissionDenied, errNoInvitation.Error())
	}
	s.options.Log.Info("a gateway has enrolled", "gateway", name, "fingerprint", f.String())
	return &nodepb.EnrolReply{Node: s.describe()}, nil
}

// Describe says what the node is.
func (s *Server) Describe(context.Context, *nodepb.DescribeRequest) (*nodepb.DescribeReply, error) {
	return s.describe(), nil
}

func (s *Server) describe() *nodepb.DescribeReply {
	o := s.options
	return &nodepb.DescribeReply{
		Version: o.Version, System: runtime.GOOS + "/" + runtime.GOARCH, Tier: o.Tier,
		Host: string(o.Settings.Host), Security: string(o.Settings.Security), Ask: string(o.Settings.Ask),
	}
}

// Judge says what the node would do with a command line.
func (s *Server) Judge(_ context.Context, m *nodepb.JudgeRequest) (*nodepb.JudgeReply, error) {
	j, err := jobOf(m.GetJob())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	r, err := s.policy.rule(j)
	if err != nil {
		return nil, failure(err)
	}
	return r.Verdict.message(), nil
}

// failure is an error of a decision as a status.
func failure(err error) error {
	code := codes.Internal
	switch {
	case errors.Is(err, ErrRefused):
		code = codes.PermissionDenied
	case errors.Is(err, ErrApproval):
		code = codes.FailedPrecondition
	}
	return status.Error(code, message(err))
}

// message is an error as the text of a message, which has to be UTF-8 and short.
func message(err error) string { return text.Printable(text.Shorten(err.Error(), maxMessageBytes)) }

// maxMessageBytes bounds a reason that crosses the connection.
const maxMessageBytes = 4 << 10

// take counts a process of a gateway, up to the bound of the configuration.
func (s *Server) take(g *Gateway) (release func(), err error) {
	f, err := mutualtls.ParseFingerprint(g.Fingerprint)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if most := cmp.Or(s.options.Settings.MaxProcesses, 16); s.counts[f] >= most {
		return nil, status.Error(codes.ResourceExhausted, fmt.Sprintf("%d processes of this gateway run on the node, which is the bound: maxProcesses of the node's configuration", most))
	}
	s.counts[f]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.counts[f]--; s.counts[f] == 0 {
			delete(s.counts, f)
		}
	}, nil
}
