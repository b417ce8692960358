package mcp

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

// limits hold back the requests to one server.
type limits struct {
	slots chan struct{} // nil without a bound
	rate  *rate.Limiter // nil without one
}

// newLimits makes the limits that a server has in its configuration.
func newLimits(s *Server) limits {
	var l limits
	if s.MaxConcurrent > 0 {
		l.slots = make(chan struct{}, s.MaxConcurrent)
	}
	if s.RatePerSecond > 0 {
		l.rate = rate.NewLimiter(rate.Limit(s.RatePerSecond), s.RatePerSecond)
	}
	return l
}

// admit waits until a request may be made, for as long as a call may take. Call release
// once the request has ended.
func (k *keeper) admit(ctx context.Context, tool string) (release func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, k.server.CallTimeout)
	defer cancel()
	fail := func(limit string) error {
		if ctx.Err() != nil {
			return k.explain(ctx, tool, &capture{}, ctx.Err()).known()
		}
		return &Error{Code: CodeBusy, Server: k.name, Message: fmt.Sprintf("The call of %q of MCP server %s was not made within %v, because %s holds it back.", tool, k.name, k.server.CallTimeout, limit)}
	}
	if k.limits.rate != nil && k.limits.rate.Wait(waiting) != nil {
		return nil, fail("ratePerSecond")
	}
	if k.limits.slots == nil {
		return func() {}, nil
	}
	select {
	case k.limits.slots <- struct{}{}:
		return func() { <-k.limits.slots }, nil
	case <-waiting.Done():
		return nil, fail("maxConcurrent")
	}
}

// The ranges of the limits.
const (
	maxConcurrentCalls = 1000
	maxCallRate        = 1000
	minResultBytes     = 1 << 10
	maxResultBytes     = 8 << 20
)

// checkLimits returns the first limit that is wrong, and how.
func (s Server) checkLimits() (field, text string) {
	switch {
	case s.MaxConcurrent < 0 || s.MaxConcurrent > maxConcurrentCalls:
		return "maxConcurrent", fmt.Sprintf("is %d; expected 0 to %d", s.MaxConcurrent, maxConcurrentCalls)
	case s.RatePerSecond < 0 || s.RatePerSecond > maxCallRate:
		return "ratePerSecond", fmt.Sprintf("is %d; expected 0 to %d", s.RatePerSecond, maxCallRate)
	case s.MaxResultBytes != 0 && (s.MaxResultBytes < minResultBytes || s.MaxResultBytes > maxResultBytes):
		return "maxResultBytes", fmt.Sprintf("is %d; expected %d to %d", s.MaxResultBytes, minResultBytes, maxResultBytes)
	}
	return "", ""
}

// clampTo keeps a duration that a server names inside a range.
func clampTo(d, least, most time.Duration) time.Duration { return min(max(d, least), most) }
