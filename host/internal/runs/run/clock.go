package run

import "time"

// Clock tells how long callers wait and people are asked. Everything else goes by the
// clock of the machine.
type Clock interface {
	Now() time.Time
	Until(time.Time) time.Duration
	NewTimer(time.Duration) Timer
}

// Timer is a time.Timer of a Clock.
type Timer interface {
	C() <-chan time.Time
	Reset(time.Duration) bool
	Stop() bool
}

// RealClock is the clock of the machine.
type RealClock struct{}

func (RealClock) Now() time.Time                  { return time.Now() }
func (RealClock) Until(t time.Time) time.Duration { return time.Until(t) }
func (RealClock) NewTimer(d time.Duration) Timer  { return realTimer{time.NewTimer(d)} }

type realTimer struct{ *time.Timer }

func (t realTimer) C() <-chan time.Time { return t.Timer.C }
