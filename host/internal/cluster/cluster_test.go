package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// secretOf returns the credentials of a secret.
func secretOf(t *testing.T, secret string) *Credentials {
	t.Helper()
	c, err := SharedSecret([]byte(strings.Repeat(secret, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAShortSecretIsRefused: it could be guessed.
func TestAShortSecretIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := SharedSecret(make([]byte, minSecret-1)); err == nil || !strings.Contains(err.Error(), "openssl rand -hex 32") {
		t.Error(err)
	}
}

// serve starts a server of the host "b" and returns its address.
func serve(t *testing.T, c *Credentials, h Handler) string { return serveHost(t, c, "b", h) }

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func serveHost(t *testing.T, c *Credentials, host string, h Handler) string {
	t.Helper()
	_, address := startServer(t, c, host, h)
	return address
}

func startServer(t *testing.T, c *Credentials, host string, h Handler) (s *Server, address string) {
	t.Helper()
	l := listen(t)
	s = Serve(l, c, host, h, slog.New(slog.DiscardHandler), DefaultTimes)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()         // requests that hang are cut off
		_ = s.Close(ctx) // a test may have closed it
	})
	return s, l.Addr().String()
}

// peers returns what asks with the credentials.
func peers(t *testing.T, c *Credentials) *Peers {
	t.Helper()
	p := NewPeers(c, DefaultTimes)
	t.Cleanup(p.Close)
	return p
}

var completed = &codemode.Result{Status: codemode.StatusCompleted, RunID: "run_1", Value: []byte(`"<done>"`), Telemetry: codemode.NewTelemetry()}

func noFrames(*Frame) {}

// TestAskTellsAndReplies takes frames and the reply over the wire.
func TestAskTellsAndReplies(t *testing.T) {
	t.Parallel()
	c := secretOf(t, "s")
	address := serve(t, c, func(_ context.Context, q *Request, tell func(*Frame)) *Reply {
		if q.Verb != VerbWait || q.Session.SessionID != "alice" || q.Wait() != time.Second {
			t.Errorf("the host was asked %+v", q)
		}
		tell(&Frame{Output: &codemode.Output{Kind: codemode.OutputText, Value: []byte(`"hi"`)}})
		return &Reply{Result: completed, Stored: true}
	})
	var told []*Frame
	q := &Request{Verb: VerbWait, Host: "b", Run: "run_1", Session: codemode.Session{SessionID: "alice"}, WaitMillis: 1000}
	reply, err := peers(t, c).Ask(t.Context(), address, q, func(f *Frame) { told = append(told, f) })
	if err != nil || !reply.Stored || string(reply.Result.Value) != `"<done>"` || len(told) != 1 || told[0].Output.Text() != "hi" {
		t.Fatalf("reply %+v, %d frames, %v", reply, len(told), err)
	}
}

// TestWhatPeopleAreAskedTravels: the other host knows that a caller asks people itself, and
// its reply has what people are asked. A result that does not wait has nothing to ask.
func TestWhatPeopleAreAskedTravels(t *testing.T) {
	t.Parallel()
	c, result := secretOf(t, "s"), &codemode.Result{Status: codemode.StatusWaiting, RunID: "run_1", Reason: codemode.ReasonApproval, Telemetry: codemode.NewTelemetry()}
	address := serve(t, c, func(_ context.Context, q *Request, _ func(*Frame)) *Reply {
		if !q.Asks {
			t.Error("the host is not told that the caller asks people")
		}
		return &Reply{Result: result, PendingApprovals: []codemode.PendingApproval{{ID: "apr_1", Input: []byte(`{"n":1}`)}}}
	})
	ask := func() (*Reply, error) {
		return peers(t, c).Ask(t.Context(), address, &Request{Verb: VerbWait, Host: "b", Run: "run_1", Asks: true}, noFrames)
	}
	reply, err := ask()
	if err != nil || len(reply.PendingApprovals) != 1 || reply.PendingApprovals[0].ID != "apr_1" || string(reply.PendingApprovals[0].Input) != `{"n":1}` {
		t.Errorf("reply %+v, %v", reply, err)
	}
	result = completed
	if reply, err := ask(); !errors.Is(err, ErrUnreachable) {
		t.Errorf("approvals of a run that has ended: %+v, %v", reply, err)
	}
}

// TestAnOlderHost names no caller that asks people, and a newer one may say more.
func TestAnOlderHost(t *testing.T) {
	t.Parallel()
	q, err := parseRequest([]byte(`{"verb":"wait","host":"b","run":"run_1","session":{"sessionId":"alice"},"newer":true}`))
	if err != nil || q.Asks {
		t.Errorf("request %+v, %v", q, err)
	}
	f, err := parseFrame([]byte(`{"reply":{"result":{"status":"waiting","runId":"run_1","reason":"approval"},"newer":true}}`))
	if err != nil || f.Reply.check(VerbWait) != nil || len(f.Reply.PendingApprovals) != 0 {
		t.Errorf("frame %+v, %v", f, err)
	}
}

// TestWhoIsNotThere tells apart hosts that are gone, others, and those that have lost the run.
func TestWhoIsNotThere(t *testing.T) {
	t.Parallel()
	c := secretOf(t, "s")
	address := serve(t, c, func(context.Context, *Request, func(*Frame)) *Reply { return &Reply{NotHere: true} })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, address, host string
		credentials         *Credentials
		want                error
	}{
		{"it has lost the run", address, "b", c, ErrNotHere},
		{"another host has the address", address, "c", c, ErrNotHere},
		{"no host listens", gone.Addr().String(), "b", c, ErrUnreachable},
		{"no address", "", "b", c, ErrUnreachable},
		{"an address of something else", "http://example.com/", "b", c, ErrUnreachable},
		{"the host has another secret", address, "b", secretOf(t, "x"), ErrUnreachable},
	} {
		_, err := peers(t, test.credentials).Ask(t.Context(), test.address, &Request{Verb: VerbAbort, Host: test.host, Run: "run_1"}, noFrames)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

// TestTheCallerLeaves ends the request at the other host.
func TestTheCallerLeaves(t *testing.T) {
	t.Parallel()
	c, asked, left := secretOf(t, "s"), make(chan struct{}), make(chan struct{})
	address := serve(t, c, func(ctx context.Context, _ *Request, _ func(*Frame)) *Reply {
		close(asked)
		<-ctx.Done()
		close(left)
		return &Reply{NotHere: true}
	})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-asked
		leave()
	}()
	if _, err := peers(t, c).Ask(ctx, address, &Request{Verb: VerbWait, Host: "b", Run: "run_1"}, noFrames); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that of the caller", err)
	}
	<-left
}

// TestHostStopsAnswering gives up on a host that accepts connections and says nothing, as one
// that is stopped does.
func TestHostStopsAnswering(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	start := time.Now()
	_, err = peers(t, secretOf(t, "s")).Ask(t.Context(), l.Addr().String(), &Request{Verb: VerbWait, Host: "b", Run: "run_1"}, noFrames)
	if !errors.Is(err, ErrUnreachable) {
		t.Fatalf("error %v after %v, want ErrUnreachable", err, time.Since(start))
	}
}

// TestHostIsCutOffMeanwhile gives up on a host that falls silent during a wait.
func TestHostIsCutOffMeanwhile(t *testing.T) {
	t.Parallel()
	c, asked, over := secretOf(t, "s"), make(chan struct{}), make(chan struct{})
	address := serve(t, c, func(context.Context, *Request, func(*Frame)) *Reply {
		close(asked)
		<-over
		return &Reply{NotHere: true}
	})
	between, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer between.Close()
	go cutOffLater(t, between, address, asked)
	_, err = peers(t, c).Ask(t.Context(), between.Addr().String(), &Request{Verb: VerbWait, Host: "b", Run: "run_1"}, noFrames)
	close(over)
	if !errors.Is(err, ErrUnreachable) {
		t.Fatalf("error %v, want ErrUnreachable", err)
	}
}

// cutOffLater passes one connection on until cut is closed. Then it swallows what comes.
func cutOffLater(t *testing.T, l net.Listener, address string, cut <-chan struct{}) {
	near, err := l.Accept()
	if err != nil {
		t.Error(err)
		return
	}
	far, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	pass := func(to, from net.Conn) {
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if err != nil {
				return
			}
			select {
			case <-cut:
			default:
				if _, err := to.Write(buffer[:n]); err != nil {
					return
				}
			}
		}
	}
	go pass(far, near)
	pass(near, far)
}

// TestCertificates lets in who has a certificate of the authority, and no one else.
func TestCertificates(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	host := ours.issue(t)
	answer := func(context.Context, *Request, func(*Frame)) *Reply { return &Reply{Result: completed} }
	address := serve(t, host, answer)
	ask := func(c *Credentials) error {
		_, err := peers(t, c).Ask(t.Context(), address, &Request{Verb: VerbWait, Host: "b", Run: "run_1"}, noFrames)
		return err
	}
	if err := ask(ours.issue(t)); err != nil {
		t.Errorf("a host of the authority: %v", err)
	}
	for name, c := range map[string]*Credentials{"of another authority": theirs.issue(t), "of a secret": secretOf(t, "s")} {
		if err := ask(c); !errors.Is(err, ErrUnreachable) {
			t.Errorf("a host %s: %v", name, err)
		}
	}
}

// authority signs certificates of hosts on loopback.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	dir         string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{newKey(t), &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}, t.TempDir()}
	writeCertificate(t, filepath.Join(a.dir, "ca.pem"), a.certificate, a, a.key)
	return a
}

// issue makes the credentials of one host.
func (a *authority) issue(t *testing.T) *Credentials {
	t.Helper()
	key, dir := newKey(t), t.TempDir()
	writeCertificate(t, filepath.Join(dir, "cert.pem"), &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, a, key)
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, filepath.Join(dir, "key.pem"), "PRIVATE KEY", text)
	open := filepath.Join(dir, "open.pem")
	writePEM(t, open, "PRIVATE KEY", text)
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Certificates(filepath.Join(dir, "cert.pem"), open, filepath.Join(a.dir, "ca.pem")); runtime.GOOS != "windows" && (err == nil || !strings.Contains(err.Error(), "0644")) {
		t.Errorf("a key that others can read: %v", err)
	}
	c, err := Certificates(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(a.dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writeCertificate(t *testing.T, name string, c *x509.Certificate, by *authority, key *ecdsa.PrivateKey) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, by.certificate, key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, name, "CERTIFICATE", der)
}

func writePEM(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"verb":"wait","host":"b","run":"run_1","session":{"sessionId":"a"},"waitMs":1000}`))
	f.Add([]byte(`{"verb":"answer","host":"b","run":"run_1","call":"1","value":null}`))
	f.Add([]byte(`{"verb":"wait","host":"b","run":"r","waitMs":-1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		q, err := parseRequest(text)
		if err == nil && (q.Run == "" || q.Host == "" || q.Wait() < 0 || q.Wait() > maxWait) {
			t.Fatalf("%q was taken as %+v", text, q)
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte(`{"event":{"kind":"call"}}`))
	f.Add([]byte(`{"reply":{"notHere":true}}`))
	f.Add([]byte(`{"reply":{"result":{"status":"completed","value":1}}}`))
	f.Add([]byte(`{"reply":{},"event":{}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		frame, err := parseFrame(line)
		if err == nil && frame.Reply != nil && frame.Reply.check(VerbWait) == nil && !frame.Reply.NotHere && frame.Reply.Result == nil {
			t.Fatalf("%q was taken as a reply without a result", line)
		}
	})
}

// TestFeedsLeavePlacesToWaits: however many follow events, runs can be waited for.
func TestFeedsLeavePlacesToWaits(t *testing.T) {
	t.Parallel()
	c := secretOf(t, "s")
	s, address := startServer(t, c, "b", func(_ context.Context, q *Request, _ func(*Frame)) *Reply {
		if q.Verb == VerbEvents {
			return &Reply{Done: true}
		}
		return &Reply{Result: completed}
	})
	p := peers(t, c)
	feed := &Request{Verb: VerbEvents, Host: "b"}
	for range maxFeeds {
		s.feeds <- struct{}{}
	}
	if _, err := p.Ask(t.Context(), address, feed, noFrames); !errors.Is(err, ErrBusy) {
		t.Errorf("one feed too many: %v, want ErrBusy", err)
	}
	if _, err := p.Ask(t.Context(), address, &Request{Verb: VerbWait, Host: "b", Run: "run_1"}, noFrames); err != nil {
		t.Errorf("a wait while all feeds are taken: %v", err)
	}
	<-s.feeds
	if _, err := p.Ask(t.Context(), address, feed, noFrames); err != nil {
		t.Error(err)
	}
	s.feeds <- struct{}{} // once it has left its place
}

// TestStrangersKeepNoHostOut: connections that say nothing take no place of a host of the cluster.
func TestStrangersKeepNoHostOut(t *testing.T) {
	t.Parallel()
	answer := func(context.Context, *Request, func(*Frame)) *Reply { return &Reply{Result: completed} }
	secret := secretOf(t, "s")
	address := serve(t, secret, answer)
	for range maxStrangers + maxConnections {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
	}
	start := time.Now()
	if _, err := peers(t, secret).Ask(t.Context(), address, &Request{Verb: VerbWait, Host: "b", Run: "run_1"}, noFrames); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > DefaultTimes.HeaderTimeout/2 {
		t.Errorf("it took %v", took)
	}
}
