package host

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// timerSlack is how late the kernel may let a sleep of this process end, in
// nanoseconds.
const timerSlack = 1_000_000

// RelaxTimerSlack lets the sleeps of this process end up to a millisecond late, which
// makes hosts on virtual machines answer faster: a busy Go program has a
// thread that sleeps 20 µs at a time, and setting a timer for each of these sleeps is dear
// there. Five tool calls one after the other took a third less time (see
// docs/internals/performance.md). Deadlines of programs are kept as before.
//
// A process can do this for threads that it starts later alone, and that one is
// there before main. So RelaxTimerSlack starts the executable again in its place, by
// execve, with the same process id, arguments, environment and inherited
// descriptors. Call it first in main: whatever ran before runs twice. It returns
// nil when the slack is relaxed, which it also is under systemd's
// TimerSlackNSec=1ms, and an error when the system refuses; a program can continue after that.
// On systems other than Linux it does nothing.
func RelaxTimerSlack() error {
	relaxed, err := slackIsRelaxed()
	if relaxed || err != nil {
		return err
	}
	runtime.LockOSThread() // exec keeps the slack of the thread that calls it
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0); err != nil {
		return fmt.Errorf("relax the timer slack: set the slack: %w", err)
	}
	// Real-time threads have no slack, and the system says nothing of it: starting again
	// would come back here for ever.
	if relaxed, err := slackIsRelaxed(); !relaxed {
		return errors.Join(errors.New("relax the timer slack: the slack of this thread cannot be set"), err)
	}
	return fmt.Errorf("relax the timer slack: restart: %w", unix.Exec("/proc/self/exe", os.Args, os.Environ()))
}

// slackIsRelaxed reads the slack of this thread.
func slackIsRelaxed() (bool, error) {
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return false, fmt.Errorf("relax the timer slack: read the slack: %w", err)
	}
	return slack >= timerSlack, nil
}
