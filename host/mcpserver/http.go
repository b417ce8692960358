package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/internal/access"
	"github.com/quoinhq/quoin/host/internal/quota"
)

func (s *Server) newTransports() *transports {
	server := func(*http.Request) *mcp.Server { return s.server }
	log := slog.New(quieter{s.options.Logger.Handler()})
	shares := quota.SharesOf(access.OfHost(s.host).Quotas)
	return &transports{
		calls:   quota.NewMeter("mcp_calls", "requests of MCP clients under way", "server.maxCalls", int64(s.options.MaxCalls), shares),
		streams: quota.NewMeter("mcp_streams", "streams of MCP clients", "server.maxStreams", int64(s.options.MaxStreams), shares),
		bodies:  quota.NewMeter("mcp_body_bytes", "bytes of request bodies of MCP clients", "server.maxBodyBytes, times 32", 32*s.options.MaxBody, shares),
		each: identified(mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
			Stateless: true, PropagateRequestCancellation: true, DisableLocalhostProtection: true,
			MaxRequestBodyBytes: s.options.MaxBody, Logger: log,
		})),
		kept: identified(mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
			SessionTimeout: s.options.IdleTimeout, DisableLocalhostProtection: true,
			MaxRequestBodyBytes: s.options.MaxBody, Logger: log,
		})),
		cross: http.NewCrossOriginProtection(),
	}
}

// ServeHTTP answers a request that nothing has checked yet. It refuses pages of other
// origins, and requests over loopback that name another host.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && loopback(addr.String()) && !loopback(r.Host) {
		http.Error(w, "the request is addressed to another host than this one", http.StatusForbidden)
		return
	}
	if err := s.http.cross.Check(r); err != nil {
		http.Error(w, "the request comes from a web page of another origin", http.StatusForbidden)
		return
	}
	s.Handle(w, r, host.Session{})
}

// Handle answers a request of a known session. Its origin and address have been checked.
// Handle is a gateway.Mount. Options.Session, if set, decides the session.
func (s *Server) Handle(w http.ResponseWriter, r *http.Request, session host.Session) {
	if s.options.Session != nil {
		var err error
		if session, err = s.options.Session(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
	}
	m := newMetered(s, session)
	defer m.release()
	// The body is read first: one that comes slowly must not count against others.
	body, ok := s.readBody(w, r, m)
	if !ok {
		return
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff")) // PowerShell writes it
	method, meter := methodOf(body), s.http.calls
	if r.Method == http.MethodGet || method == listen {
		meter = s.http.streams
	}
	if !m.take(w, meter, 1) {
		return
	}
	r = as(r, session)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if s.needsConnection(r, method) {
		s.http.kept.ServeHTTP(w, r)
		s.connections.opened(w.Header().Get(headerSession), identity(session))
		return
	}
	s.http.each.ServeHTTP(w, r)
}

// methodOf returns the method of a request, or "" of what is not a single one.
func methodOf(body []byte) string {
	var request struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(body, &request) != nil {
		return ""
	}
	return request.Method
}

// readBody reads the body of a request. It answers the request itself if the body is longer
// than it may be.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, m *metered) ([]byte, bool) {
	charged := &quota.Reader{Of: r.Body, Meter: s.http.bodies, Owner: quota.OwnerOf(m.caller)}
	m.body = charged
	body, err := io.ReadAll(http.MaxBytesReader(w, charged, s.options.MaxBody))
	var large *http.MaxBytesError
	switch {
	case charged.Denied != nil:
		m.busy(w, charged.Denied)
		return nil, false
	case errors.As(err, &large):
		http.Error(w, fmt.Sprintf("the body is longer than the %d bytes this server takes", large.Limit), http.StatusRequestEntityTooLarge)
		return nil, false
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		http.Error(w, "the body did not arrive in time", http.StatusRequestTimeout)
		return nil, false
	case err != nil:
		http.Error(w, "the body did not arrive whole", http.StatusBadRequest)
		return nil, false
	}
	// The body has arrived: the answer may take as long as it needs. A writer that has
	// no deadlines belongs to the embedder.
	if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		w.Header().Set("Connection", "close")
	}
	return body, true
}

// The headers that tell the eras apart.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"
)

// firstStateless is the first revision without connections.
const firstStateless = "2026-07-28"

// needsConnection reports whether a request is one of an older client that starts a
// connection or has one in this process. Others, such as one that the client has
// opened in another process, are answered without: nothing but a question to the
// client needs it.
func (s *Server) needsConnection(r *http.Request, method string) bool {
	if r.Header.Get(headerVersion) >= firstStateless {
		return false
	}
	if id := r.Header.Get(headerSession); id != "" {
		return strings.HasPrefix(id, s.process+".")
	}
	return r.Method == http.MethodPost && method == "initialize" && s.connections.room(s)
}

// loopback reports whether an address with or without a port is one of this machine
// alone.
func loopback(address string) bool {
	name := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}
