package childprocess

import "time"

// RateLimiter lets lines through in a burst, then at a steady rate, and counts those
// that it holds back. It is not safe for concurrent use.
type RateLimiter struct {
	burst, perSecond float64
	tokens           float64
	last             time.Time
	dropped          int
}

// NewRateLimiter returns a RateLimiter that lets burst lines through at once.
func NewRateLimiter(burst, perSecond float64, now time.Time) *RateLimiter {
	return &RateLimiter{burst: burst, perSecond: perSecond, tokens: burst, last: now}
}

// Allow reports whether a line may pass.
func (t *RateLimiter) Allow(now time.Time) bool {
	t.tokens = min(t.burst, t.tokens+now.Sub(t.last).Seconds()*t.perSecond)
	t.last = now
	if t.tokens < 1 {
		t.dropped++
		return false
	}
	t.tokens--
	return true
}

// Dropped returns how many lines were held back since it was last asked.
func (t *RateLimiter) Dropped() int {
	n := t.dropped
	t.dropped = 0
	return n
}
