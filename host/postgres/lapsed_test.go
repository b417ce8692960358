package postgres

import (
	"testing"
	"time"
	"unsafe"
)

// at returns a time as a clock reads it with its wall clock ahead by a number of seconds of
// its monotonic one, for a time that has both.
func at(t time.Time, ahead int64) time.Time {
	const secondsFrom = 30 // the bits below are nanoseconds
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall = uint64(int64(*wall) + ahead<<secondsFrom)
	return t
}

// TestALeaseEndsByEitherClock: the monotonic clock stands still while the machine is
// suspended, and the other one can be set.
func TestALeaseEndsByEitherClock(t *testing.T) {
	t.Parallel()
	const hour = 60 * 60
	if now := time.Now(); at(now, hour).Sub(now) != 0 || at(now, hour).Round(0).Sub(now.Round(0)) != time.Hour {
		t.Fatal("this version of Go lays out a time in another way")
	}
	for _, tt := range []struct {
		name   string
		left   time.Duration // by the monotonic clock
		ahead  int64         // of the wall clock that the end was written by
		lapsed bool
	}{
		{"the lease goes on", time.Hour, 0, false},
		{"it is over", -time.Hour, 0, true},
		{"the machine has slept for longer", time.Hour, -2 * hour, true},
		{"the wall clock was set back", -time.Hour, 2 * hour, true},
	} {
		l := &lease{}
		until := at(time.Now().Add(tt.left), tt.ahead)
		l.until.Store(&until)
		if l.Lapsed() != tt.lapsed {
			t.Errorf("%s: lapsed %v, want %v", tt.name, l.Lapsed(), tt.lapsed)
		}
	}
	if (&lease{}).Lapsed() {
		t.Error("a lease that was not started has lapsed")
	}
}
