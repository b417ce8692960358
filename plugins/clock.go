package plugins

import "time"

// clock is the time as this package sees it, so that tests need not wait.
type clock interface {
	Now() time.Time
	// After returns a channel that receives once d has passed, and a function
	// that gives it up.
	After(d time.Duration) (<-chan time.Time, func())
}

// systemClock is the real time.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
