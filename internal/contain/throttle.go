package contain

import "time"

// Throttle lets lines through in a burst, then at a steady rate, and counts those
// that it holds back. It is not safe for concurrent use.
type Throttle struct {
	burst, perSecond float64
	tokens           float64
	last             time.Time
	dropped          int
}

// NewThrottle returns a Throttle that lets burst lines through at once.
func NewThrottle(burst, perSecond float64, now time.Time) *Throttle {
	return &Throttle{burst: burst, perSecond: perSecond, tokens: burst, last: now}
}

// Admit reports whether a line may pass.
func (t *Throttle) Admit(now time.Time) bool {
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
func (t *Throttle) Dropped() int {
	n := t.dropped
	t.dropped = 0
	return n
}
