package conformance

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/quoinhq/quoin/plugins/internal/child"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// handshake looks at the line by which the plugin says where it listens.
func handshake(s *setting) error {
	l, err := s.launch(strconv.Itoa(s.found.Manifest.Protocol))
	if l == nil {
		return err
	}
	defer l.process.Close()
	line := l.handshake()
	if line == nil {
		return err
	}
	s.judgeHandshake(l.process.SocketDir, line)
	if len(s.problems) == 0 {
		return err
	}
	return nil // they say it better
}

func (s *setting) judgeHandshake(sockets string, line *child.Handshake) {
	is := func(field, got, want string) {
		if got != want {
			s.problem("the handshake says %s %q; expected %q", field, got, want)
		}
	}
	is("core version", line.Core, "1")
	is("protocol version", line.Version, strconv.Itoa(s.found.Manifest.Protocol))
	is("network", line.Network, "unix")
	is("folder of the socket", filepath.Dir(filepath.Clean(line.Address)), sockets)
	is("transport", line.Transport, "grpc")
	if info, err := os.Lstat(line.Address); err != nil || info.Mode().Type() != os.ModeSocket {
		s.problem("the handshake names %s, which is not a socket (%v)", line.Address, err)
	}
	raw, err := base64.RawStdEncoding.DecodeString(line.Certificate)
	if err != nil {
		s.problem("the certificate in the handshake: the certificate is not base64 without padding: %v", err)
		return
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		s.problem("the certificate in the handshake: %v", err)
	} else if err := leaf.VerifyHostname("localhost"); err != nil {
		s.problem("the certificate in the handshake: %v; it must have the DNS name localhost", err)
	}
}

// strangers connects without a certificate, and with the certificate of another host.
func strangers(e *wireExam) {
	other, err := e.launch(e.handshake().Version)
	if other != nil {
		defer other.process.Close()
	}
	if err != nil {
		e.problem("starting the plugin once more: %v", err)
		return
	}
	for who, certificates := range map[string][]tls.Certificate{"without a certificate": nil, "with another's certificate": other.process.TLS.Certificates} {
		config := e.process.TLS.Clone()
		config.Certificates = certificates
		conn, err := grpc.NewClient("passthrough:///plugin", grpc.WithTransportCredentials(credentials.NewTLS(config)),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", e.handshake().Address)
			}))
		if err != nil {
			e.problem("connecting: %v", err)
			continue
		}
		ctx, cancel := e.bounded()
		if _, err := protocol.NewClient(conn).Health(ctx); err == nil {
			e.problem("a client %s was answered; only the host's certificate may be accepted", who)
		}
		cancel()
		if err := conn.Close(); err != nil {
			e.problem("closing a connection: %v", err)
		}
	}
	e.alive("strangers")
}

// byHand starts the plugin without the cookie, as a person would.
func byHand(s *setting) error {
	cmd, err := s.command()
	if err != nil {
		return err
	}
	l := &launched{}
	process := child.New(cmd, s.scratch, l, pipeGrace)
	if err := process.Start(s.ctx); err != nil {
		s.problem("starting the plugin: %v", err)
		return nil
	}
	defer func() { process.Stop(); <-process.Done() }()
	go func() { _, _ = io.Copy(io.Discard, process.Stdout()) }() // ends with the process
	ctx, cancel := s.bounded()
	defer cancel()
	select {
	case <-process.Done():
	case <-ctx.Done():
		s.problem("without %s in its environment the plugin does not end; expected a sentence on standard error and an exit status that is not 0", protocol.CookieKey)
		return nil
	}
	if process.Outcome() == nil {
		s.problem("without %s in its environment the plugin ends with exit status 0; expected another", protocol.CookieKey)
	}
	if len(l.said()) == 0 {
		s.problem("without %s in its environment the plugin says nothing on standard error; expected a sentence that says what it is", protocol.CookieKey)
	}
	return nil
}

// stopsWhenAsked uses go-plugin's controller, with standard input open.
func stopsWhenAsked(e *wireExam) {
	ctx, cancel := e.bounded()
	defer cancel()
	// A plugin that ends need not get to answer.
	_ = e.conn.Invoke(ctx, "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{})
	e.ends("Shutdown of plugin.GRPCController was called")
}

// stopsWithHost closes standard input, as the kernel does for a host that dies.
func stopsWithHost(e *wireExam) {
	if err := e.process.CloseStdin(); err != nil {
		e.problem("closing the plugin's standard input: %v", err)
	}
	e.ends("its standard input had ended")
}

// ends reports a process that does not end by itself, or not well.
func (e *wireExam) ends(after string) {
	ctx, cancel := e.bounded()
	defer cancel()
	select {
	case <-e.process.Done():
		if err := e.process.Outcome(); err != nil {
			e.problem("after %s the plugin ended with %v; expected exit status 0", after, err)
		}
	case <-ctx.Done():
		e.problem("%v after %s the plugin has not ended", e.timeout, after)
	}
}
