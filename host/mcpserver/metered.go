package mcpserver

import (
	"net/http"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/internal/access"
	"github.com/quoinhq/quoin/host/internal/quota"
)

// metered is what one request holds. Each session has a share, so that one session
// cannot keep the others out.
type metered struct {
	server *Server
	caller host.Session
	held   map[*quota.Meter]int64
	body   *quota.Reader
}

func newMetered(s *Server, caller host.Session) *metered {
	return &metered{server: s, caller: caller, held: make(map[*quota.Meter]int64, 2)}
}

// take charges the request, or answers it with 503.
func (m *metered) take(w http.ResponseWriter, meter *quota.Meter, n int64) bool {
	if d := meter.Take(quota.OwnerOf(m.caller), n); d != nil {
		m.busy(w, d)
		return false
	}
	m.held[meter] += n
	return true
}

// busy answers a request that a meter has refused.
func (m *metered) busy(w http.ResponseWriter, d *quota.Denied) {
	access.OfHost(m.server.host).Engine.ReportDenied(m.caller, d)
	w.Header().Set("Retry-After", "1")
	http.Error(w, d.Error()+": try again later", http.StatusServiceUnavailable)
}

// release returns all that the request holds.
func (m *metered) release() {
	if m.body != nil {
		m.body.Release()
	}
	for meter, n := range m.held {
		meter.Give(quota.OwnerOf(m.caller), n)
	}
}
