package conformance

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/quoinhq/quoin/internal/childprocess"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// maxErrorLines is how many lines of standard error are kept.
const maxErrorLines = 1000

// launched is a process of the plugin that this package has started, as
// docs/reference/plugin-protocol.md says that hosts do.
type launched struct {
	process *childprocess.Process
	stdin   *os.File // write end
	sockets string   // folder the plugin must listen in

	lines   chan string // of standard output; closed at its end
	reading sync.WaitGroup

	mu     sync.Mutex
	stderr []string
}

// wireExam is a part in progress that speaks the protocol itself.
type wireExam struct {
	*setting
	*launched
	client tls.Certificate
	line   handshakeLine
	conn   *grpc.ClientConn
	rpc    protocolpb.PluginClient

	storage counted
	served  error // how the host services ended
}

// environment is what a host sets for the version it speaks.
func (s *setting) environment(sockets, version, clientCert string) []string {
	data, tmp := filepath.Join(s.scratch, "data"), filepath.Join(s.scratch, "tmp")
	return []string{
		"TZ=UTC",
		"HOME=" + data,
		"TMPDIR=" + tmp,
		protocol.EnvDataDir + "=" + data,
		protocol.EnvPluginDir + "=" + s.found.Dir,
		protocol.CookieKey + "=" + protocol.CookieValue,
		"PLUGIN_MIN_PORT=0",
		"PLUGIN_MAX_PORT=0",
		"PLUGIN_PROTOCOL_VERSIONS=" + version,
		"PLUGIN_CLIENT_CERT=" + clientCert,
		"PLUGIN_UNIX_SOCKET_DIR=" + sockets,
	}
}

// launch starts a process with an environment that change may change.
func (s *setting) launch(version, clientCert string, change func([]string) []string) (*launched, error) {
	if s.found.Err != nil {
		return nil, s.found.Err
	}
	sockets, err := os.MkdirTemp(s.scratch, "s")
	if err != nil {
		return nil, err
	}
	l := &launched{sockets: sockets, lines: make(chan string, 1024)}
	for _, dir := range []string{"data", "tmp"} {
		if err := os.MkdirAll(filepath.Join(s.scratch, dir), 0o700); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(s.found.Executable())
	cmd.Dir = filepath.Join(s.scratch, "data")
	cmd.Env = s.environment(l.sockets, version, clientCert)
	if change != nil {
		cmd.Env = change(cmd.Env)
	}
	return l, l.start(s.ctx, cmd)
}

// start starts the command with three pipes.
func (l *launched) start(ctx context.Context, cmd *exec.Cmd) error {
	inR, inW, err := os.Pipe()
	if err != nil {
		return err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return errors.Join(err, inR.Close(), inW.Close())
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return errors.Join(err, inR.Close(), inW.Close(), outR.Close(), outW.Close())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	l.stdin = inW
	l.process, err = childprocess.Start(ctx, cmd)
	err = errors.Join(err, inR.Close(), outW.Close(), errW.Close())
	if l.process == nil {
		return errors.Join(err, inW.Close(), outR.Close(), errR.Close())
	}
	l.reading.Go(func() {
		defer close(l.lines)
		l.read(outR, func(line string) {
			select {
			case l.lines <- line:
			default: // the handshake is no longer awaited
			}
		})
	})
	l.reading.Go(func() {
		l.read(errR, func(line string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if len(l.stderr) < maxErrorLines {
				l.stderr = append(l.stderr, line)
			}
		})
	})
	return err
}

// read reads lines to the end. A pipe that cannot be read has ended, so that its errors
// say no more.
func (l *launched) read(r *os.File, each func(string)) {
	_ = childprocess.ReadLines(r, func(line []byte, _ bool) { each(string(line)) })
	_ = r.Close()
}

// said is what the process has written to standard error.
func (l *launched) said() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.stderr...)
}

// end kills the process, if it is still there, and waits for it.
func (l *launched) end() {
	l.process.Kill()
	<-l.process.Done()
	_ = l.stdin.Close() // it may be closed already
	for range l.lines {
	}
	l.reading.Wait()
}

// withWire runs a part against a process that is connected and configured.
func (s *setting) withWire(part func(*wireExam)) (err error) {
	e, err := s.connected(strconv.Itoa(s.found.Manifest.Protocol))
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, e.conn.Close())
		e.end()
		e.judgeLog()
	}()
	if _, err := e.rpc.Describe(s.ctx, &protocolpb.DescribeRequest{}); err != nil {
		return fmt.Errorf("asking Describe: %w", err)
	}
	defer e.offerServices()()
	r, err := e.rpc.Configure(s.ctx, &protocolpb.ConfigureRequest{DataDir: filepath.Join(s.scratch, "data"), Config: s.config, Protocol: int32(s.found.Manifest.Protocol)})
	if err == nil && r.GetError() != nil {
		err = errors.New(r.GetError().GetMessage())
	}
	if err != nil {
		return fmt.Errorf("asking Configure: %w", err)
	}
	part(e)
	return nil
}

// connected starts a process and connects to it.
func (s *setting) connected(version string) (*wireExam, error) {
	client, pemText, err := clientCertificate()
	if err != nil {
		return nil, err
	}
	l, err := s.launch(version, pemText, nil)
	if err != nil {
		return nil, err
	}
	e := &wireExam{setting: s, launched: l, client: client}
	if e.line, err = l.handshake(s); err == nil {
		e.conn, err = e.dial(&e.client)
	}
	if err != nil {
		l.end()
		return nil, err
	}
	e.rpc = protocolpb.NewPluginClient(e.conn)
	return e, nil
}

// handshakeLine is what a plugin says when it listens.
type handshakeLine struct {
	core, version, network, address, protocol, certificate string
}

// handshake waits for the handshake line.
func (l *launched) handshake(s *setting) (handshakeLine, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.timeout)
	defer cancel()
	for {
		select {
		case line, ok := <-l.lines:
			if !ok {
				<-l.process.Done()
				return handshakeLine{}, fmt.Errorf("the process ended without a handshake: %v; it said %q", l.process.Outcome(), l.said())
			}
			parts := strings.Split(line, "|")
			if len(parts) == 6 || len(parts) == 7 {
				return handshakeLine{parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]}, nil
			}
		case <-ctx.Done():
			return handshakeLine{}, fmt.Errorf("no handshake within %v", s.timeout)
		}
	}
}

// leaf is the plugin's certificate.
func (h handshakeLine) leaf() (*x509.Certificate, error) {
	raw, err := base64.RawStdEncoding.DecodeString(h.certificate)
	if err != nil {
		return nil, fmt.Errorf("the certificate is not base64 without padding: %w", err)
	}
	return x509.ParseCertificate(raw)
}

// dial connects as a client with a certificate, or without one.
func (e *wireExam) dial(client *tls.Certificate) (*grpc.ClientConn, error) {
	leaf, err := e.line.leaf()
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost", MinVersion: tls.VersionTLS12}
	config.RootCAs.AddCert(leaf)
	if client != nil {
		config.Certificates = []tls.Certificate{*client}
	}
	address := e.line.address
	return grpc.NewClient("passthrough:///plugin", append(protocol.DialOptions(),
		grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", address)
		}))...)
}

// alive reports a plugin that does not answer any more.
func (e *wireExam) alive(after string) {
	if r, err := e.rpc.Health(e.ctx, &protocolpb.HealthRequest{}); err != nil || r.GetError() != nil {
		e.problem("after %s the plugin is not healthy: %v %s", after, err, r.GetError().GetMessage())
	}
}

// bounded is the context of one call.
func (s *setting) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.ctx, s.timeout)
}
