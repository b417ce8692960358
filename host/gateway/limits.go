package gateway

import (
	"net/http"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/internal/access"
	"github.com/quoinhq/quoin/host/internal/quota"
)

// limits are the meters of what requests hold while they last. Each session has a
// share of each of them, so that one session cannot keep the others out.
type limits struct {
	calls   *quota.Meter // exec and wait requests under way
	streams *quota.Meter // event streams
	bodies  *quota.Meter // bytes of bodies
	host    *host.Host
}

func newLimits(h *host.Host, o Options) *limits {
	shares := quota.SharesOf(access.OfHost(h).Quotas)
	return &limits{
		calls:   quota.NewMeter("calls", "exec and wait requests under way", "server.maxCalls", int64(o.MaxCalls), shares),
		streams: quota.NewMeter("streams", "event streams", "server.maxStreams", int64(o.MaxStreams), shares),
		bodies:  quota.NewMeter("body_bytes", "bytes of request bodies", "server.maxBodyBytes, times 32", 32*o.MaxBody, shares),
		host:    h,
	}
}

// busy returns the problem of a request that a meter has refused, and reports the
// refusal to the host.
func (l *limits) busy(session Session, d *quota.Denied) *Problem {
	access.OfHost(l.host).Engine.ReportDenied(session, d)
	p := problem(http.StatusServiceUnavailable, ProblemBusy, "%v: try again later", d)
	p.retry = time.Second
	return p
}
