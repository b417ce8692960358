package egress

import (
	"bytes"
	"crypto/tls"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// openTunnel makes a CONNECT, and returns TLS over it that has not shaken hands.
func openTunnel(t *testing.T, conn net.Conn, target string, config *tls.Config) *tls.Conn {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, connectTo(target)); err != nil {
		t.Fatal(err)
	}
	const want = "HTTP/1.1 200 Connection established\r\n\r\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("%q, %v", got, err)
	}
	return tls.Client(conn, config)
}

// helloOf returns the first bytes that a TLS client sends.
func helloOf(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	var sent bytes.Buffer
	_ = tls.Client(onlyWrites{&sent}, config).Handshake() // it fails as no answer comes
	return sent.Bytes()
}

type onlyWrites struct{ to io.Writer }

func (c onlyWrites) Read([]byte) (int, error)         { return 0, io.EOF }
func (c onlyWrites) Write(p []byte) (int, error)      { return c.to.Write(p) }
func (c onlyWrites) Close() error                     { return nil }
func (c onlyWrites) LocalAddr() net.Addr              { return nil }
func (c onlyWrites) RemoteAddr() net.Addr             { return nil }
func (c onlyWrites) SetDeadline(time.Time) error      { return nil }
func (c onlyWrites) SetReadDeadline(time.Time) error  { return nil }
func (c onlyWrites) SetWriteDeadline(time.Time) error { return nil }

// TestTunnelsCarryTLSOfTheirServer: a tunnel is not a way to another server, nor for
// another protocol.
func TestTunnelsCarryTLSOfTheirServer(t *testing.T) {
	for name, c := range map[string]struct {
		sent []byte
		want string
	}{
		"another name": {helloOf(t, &tls.Config{ServerName: "other.org"}), "TLS names another server"},
		"no name":      {helloOf(t, &tls.Config{InsecureSkipVerify: true}), "TLS names another server"},
		"SSH":          {[]byte("SSH-2.0-OpenSSH_9.9\r\n"), "not TLS"},
		"HTTP":         {[]byte("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"), "not TLS"},
		"SSLv2":        {[]byte("\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10"), "not TLS"},
		"hidden name":  {withExtension(helloOf(t, &tls.Config{ServerName: "example.com", MaxVersion: tls.VersionTLS12}), encryptedHello), "ECH"},
	} {
		world, _ := withServers(t)
		reached := listenFor(t, world, math.MaxInt64)
		proxy, stop := world.serve(t, "example.com")
		conn, err := net.Dial("tcp", proxy)
		if err != nil {
			t.Fatal(err)
		}
		openTunnel(t, conn, "example.com:443", nil)
		if _, err := conn.Write(c.sent); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(conn); isTimeout(err) || len(rest) != 0 {
			t.Errorf("%s: answered %q, %v", name, rest, err)
		}
		_ = conn.Close()
		stop()
		if got := <-reached; len(got) != 0 {
			t.Errorf("%s: the server got %q", name, got)
		}
		if _, _, refused := world.reached(); len(refused) != 1 || !strings.Contains(refused[0].Reason, c.want) {
			t.Errorf("%s: reported %v, want %q", name, refused, c.want)
		}
	}
}

// listenFor has the TLS server of a world replaced by one that only says what it gets,
// until the end or so many bytes.
func listenFor(t *testing.T, world *internet, most int64) <-chan []byte {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for to := range world.servers {
		if to.Port() == portHTTPS {
			world.servers[to] = l.Addr().String()
		}
	}
	got := make(chan []byte, 1)
	go func() {
		defer l.Close()
		conn, err := l.Accept()
		if err != nil {
			got <- []byte(err.Error())
			return
		}
		defer conn.Close()
		all, _ := io.ReadAll(io.LimitReader(conn, most)) // a reset ends it as well
		got <- all
	}()
	return got
}

// withExtension adds an empty extension to a hello of one record.
func withExtension(hello []byte, id uint16) []byte {
	at := 5 + 4 + 2 + 32 // record, handshake, version, random
	at += 1 + int(hello[at])
	at += 2 + int(hello[at])<<8 + int(hello[at+1])
	at += 1 + int(hello[at])
	grow := func(i, by int) {
		n := int(hello[i])<<8 + int(hello[i+1]) + by
		hello[i], hello[i+1] = byte(n>>8), byte(n)
	}
	hello = bytes.Clone(hello)
	grow(3, 4)
	grow(7, 4)
	grow(at, 4)
	return append(hello, byte(id>>8), byte(id), 0, 0)
}

// TestHelloMayComeInPieces: clients split the hello, and send it with the request.
func TestHelloMayComeInPieces(t *testing.T) {
	hello := helloOf(t, &tls.Config{ServerName: "Example.COM"})
	for name, pieces := range map[string][][]byte{
		"with the request": {append([]byte(connectTo("example.com:443")), hello...)},
		"byte by byte":     append([][]byte{[]byte(connectTo("example.com.:443"))}, split(hello, 1)...),
		"in records":       {[]byte(connectTo("example.com:443")), inRecords(hello, 200)},
	} {
		want := bytes.Join(pieces, nil)
		_, want, _ = bytes.Cut(want, []byte("\r\n\r\n"))
		world, _ := withServers(t)
		reached := listenFor(t, world, int64(len(want)))
		proxy, stop := world.serve(t, "example.com")
		conn, err := net.Dial("tcp", proxy)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pieces {
			if _, err := conn.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		if got := <-reached; !bytes.Equal(got, want) {
			t.Errorf("%s: the server got %d bytes, want %d", name, len(got), len(want))
		}
		_ = conn.Close()
		stop()
	}
}

func split(all []byte, by int) (pieces [][]byte) {
	for ; len(all) > by; all = all[by:] {
		pieces = append(pieces, all[:by])
	}
	return append(pieces, all)
}

// inRecords divides the one record of a hello.
func inRecords(hello []byte, by int) (all []byte) {
	for _, p := range split(hello[5:], by) {
		all = append(append(all, hello[0], hello[1], hello[2], 0, byte(len(p))), p...)
	}
	return all
}

// TestUnreachableServersAreNotRefused: a client may try again.
func TestUnreachableServersAreNotRefused(t *testing.T) {
	world, _ := withServers(t)
	world.names["dead.example.com."] = world.names["example.com."]
	proxy, _ := world.serve(t, "dead.example.com:81", "gone.example.com")
	for raw, want := range map[string]string{
		connectTo("dead.example.com:81"):        "cannot be reached",
		getFrom("http://gone.example.com/"):     "cannot be looked up",
		getFrom("http://dead.example.com:81/x"): "cannot be reached",
	} {
		if status, body := request(t, proxy, raw); status != http.StatusBadGateway || !strings.Contains(body, want) {
			t.Errorf("%q: %d %q", raw, status, body)
		}
	}
	if _, _, refused := world.reached(); len(refused) != 0 {
		t.Errorf("reported %v", refused)
	}
}

// FuzzHello checks that what passes names the server, and that nothing is lost of it.
func FuzzHello(f *testing.F) {
	hello := helloOf(f, &tls.Config{ServerName: "example.com"})
	f.Add(hello)
	f.Add(inRecords(hello, 20))
	f.Add(withExtension(helloOf(f, &tls.Config{ServerName: "example.com", MaxVersion: tls.VersionTLS12}), encryptedHello))
	f.Add([]byte("SSH-2.0-x\r\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		got, err := readHello(bytes.NewReader(sent), onlyWrites{io.Discard}, "example.com")
		if err != nil {
			return
		}
		if !bytes.HasPrefix(sent, got) || !bytes.Contains(joined(got), []byte("example.com")) && !bytes.Contains(bytes.ToLower(joined(got)), []byte("example.com")) {
			t.Errorf("passed on %x of %x", got, sent)
		}
	})
}

// joined takes the headers of records out.
func joined(all []byte) (data []byte) {
	for len(all) >= 5 {
		n := min(5+int(all[3])<<8+int(all[4]), len(all))
		data, all = append(data, all[5:n]...), all[n:]
	}
	return data
}
