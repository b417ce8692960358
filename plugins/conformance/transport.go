package conformance

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// handshake looks at the line that has already served to connect.
func handshake(e *wireExam) {
	is := func(field, got, want string) {
		if got != want {
			e.problem("the handshake says %s %q; expected %q", field, got, want)
		}
	}
	is("core version", e.line.core, "1")
	is("protocol version", e.line.version, strconv.Itoa(e.found.Manifest.Protocol))
	is("network", e.line.network, "unix")
	is("folder of the socket", filepath.Dir(filepath.Clean(e.line.address)), e.sockets)
	is("transport", e.line.protocol, "grpc")
	if info, err := os.Lstat(e.line.address); err != nil || info.Mode().Type() != os.ModeSocket {
		e.problem("the handshake names %s, which is not a socket (%v)", e.line.address, err)
	}
	leaf, err := e.line.leaf()
	if err != nil {
		e.problem("the certificate in the handshake: %v", err)
		return
	}
	if err := leaf.VerifyHostname("localhost"); err != nil {
		e.problem("the certificate in the handshake: %v; it must have the DNS name localhost", err)
	}
}

// strangers connects without a certificate, and with another than the host's.
func strangers(e *wireExam) {
	other, _, err := clientCertificate()
	if err != nil {
		e.problem("a certificate cannot be made: %v", err)
		return
	}
	for who, certificate := range map[string]*tls.Certificate{"without a certificate": nil, "with another's certificate": &other} {
		conn, err := e.dial(certificate)
		if err != nil {
			e.problem("connecting: %v", err)
			continue
		}
		ctx, cancel := e.bounded()
		if _, err := protocolpb.NewPluginClient(conn).Health(ctx, &protocolpb.HealthRequest{}); err == nil {
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
func byHand(s *setting) {
	l, err := s.launch("1", "", func(env []string) []string {
		return slices.DeleteFunc(env, func(v string) bool {
			return strings.HasPrefix(v, protocol.CookieKey+"=") || strings.HasPrefix(v, "PLUGIN_")
		})
	})
	if err != nil {
		s.problem("starting the plugin: %v", err)
		return
	}
	defer l.end()
	ctx, cancel := s.bounded()
	defer cancel()
	select {
	case <-l.process.Done():
	case <-ctx.Done():
		s.problem("without %s in its environment the plugin does not end; expected a sentence on standard error and an exit status that is not 0", protocol.CookieKey)
		return
	}
	l.reading.Wait()
	if l.process.Outcome() == nil {
		s.problem("without %s in its environment the plugin ends with exit status 0; expected another", protocol.CookieKey)
	}
	if len(l.said()) == 0 {
		s.problem("without %s in its environment the plugin says nothing on standard error; expected a sentence that says what it is", protocol.CookieKey)
	}
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
	if err := e.stdin.Close(); err != nil {
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
