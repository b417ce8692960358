package mcpserver

import (
	"net/http"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/internal/quota"
)

// metered is what one request holds. Each session has a share, so that one session
// cannot keep the others out.
type metered struct {
	server *Server
	caller host.Session
	held   map[*quota.Meter]int64
}

func newMetered(s *Server, caller host.Session) *metered {
	return &metered{server: s, caller: caller, held: make(map[*quota.Meter]int64, 2)}
}

// take charges the request, or answers it with 503.
func (m *metered) take(w http.ResponseWriter, meter *quota.Meter, n int64) bool {
	if d := meter.Take(quota.OwnerOf(m.caller), n); d != nil {
		m.server.host.ReportDenied(m.caller, d)
		w.Header().Set("Retry-After", "1")
		http.Error(w, d.Error()+": try again later", http.StatusServiceUnavailable)
		return false
	}
	m.held[meter] += n
	return true
}

// give returns a part of what the request holds.
func (m *metered) give(meter *quota.Meter, n int64) {
	meter.Give(quota.OwnerOf(m.caller), n)
	m.held[meter] -= n
}

// exchange charges one meter in place of another.
func (m *metered) exchange(w http.ResponseWriter, from, to *quota.Meter) bool {
	if !m.take(w, to, 1) {
		return false
	}
	m.give(from, 1)
	return true
}

// release returns all that the request holds.
func (m *metered) release() {
	for meter, n := range m.held {
		meter.Give(quota.OwnerOf(m.caller), n)
	}
}
