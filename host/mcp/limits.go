package mcp

import (
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

// clampTo keeps a duration that a server names inside a range.
func clampTo(d, least, most time.Duration) time.Duration { return min(max(d, least), most) }
