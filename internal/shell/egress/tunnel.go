package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// connect serves a CONNECT: a tunnel for TLS that names the server of the request.
func (s *service) connect(w http.ResponseWriter, r *http.Request) {
	server, err := s.dial(r.Context(), r.URL.Host, portHTTPS)
	if err != nil {
		s.fail(w, r.URL.Host, err)
		return
	}
	defer server.Close()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.fail(w, r.URL.Host, err)
		return
	}
	client := &idleConn{Conn: conn}
	defer client.Close()
	defer context.AfterFunc(r.Context(), func() { _, _ = client.Close(), server.Close() })()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	// What the client has sent with its request is the start of what it sends now.
	early, _ := buffered.Reader.Peek(buffered.Reader.Buffered()) // never more than is there
	name, _, _ := net.SplitHostPort(r.URL.Host)                  // dial has read it
	hello, err := readHello(io.MultiReader(bytes.NewReader(early), conn), conn, name)
	if err != nil {
		var refusal Refusal
		if errors.As(err, &refusal) {
			refusal.Server = printable(r.URL.Host)
			s.report(refusal)
		}
		return
	}
	if _, err := server.Write(hello); err == nil {
		splice(client, server)
	}
}

// splice copies both ways until both have ended, or one fails.
func splice(a, b *idleConn) {
	var both sync.WaitGroup
	for _, way := range [][2]*idleConn{{a, b}, {b, a}} {
		both.Go(func() {
			if _, err := io.Copy(way[1], way[0]); err != nil || closeWrite(way[1].Conn) != nil {
				_, _ = a.Close(), b.Close()
			}
		})
	}
	both.Wait()
}

// encryptedHello is the extension of TLS that hides the name of the server.
const encryptedHello = 0xfe0d

var errRead = errors.New("the hello is read")

// readHello returns what it has read of a client until the end of its TLS hello, which
// must name the server.
func readHello(from io.Reader, conn net.Conn, name string) ([]byte, error) {
	if err := conn.SetDeadline(time.Now().Add(headerTimeout)); err != nil {
		return nil, err
	}
	var read bytes.Buffer
	var hello *tls.ClientHelloInfo
	// The library reads the hello; it never answers, as the copy has no way back.
	err := tls.Server(onlyReads{conn, io.TeeReader(from, &read)}, &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) { hello = h; return nil, errRead },
	}).Handshake()
	switch {
	case hello == nil && isTimeout(err):
		return nil, err
	case hello == nil:
		return nil, refuse("what the client sent after CONNECT is not TLS", "")
	case slices.Contains(hello.Extensions, encryptedHello):
		return nil, refuse("the client encrypts the name of the server (ECH), which the proxy must read", "")
	case !strings.EqualFold(hello.ServerName, strings.TrimSuffix(name, ".")):
		return nil, refuse("TLS names another server, or no server, than the one of CONNECT", "")
	}
	return read.Bytes(), nil
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// onlyReads is a connection that drops what is written to it.
type onlyReads struct {
	net.Conn
	from io.Reader
}

// Read reads what the client sends.
func (c onlyReads) Read(p []byte) (int, error) { return c.from.Read(p) }

// Write drops an alert of the library.
func (c onlyReads) Write(p []byte) (int, error) { return len(p), nil }
