package guestrt

import "golang.org/x/sys/unix"

// timerSlack is how late the kernel may make a thread's sleep end.
const timerSlack = 1_000_000 // nanoseconds

// relaxTimerSlack lets the sleeps of the processes this thread starts from now on
// end a little late, so that the kernel need not set a timer for each. A busy
// Go program has a thread that sleeps 20 µs at a time to watch the others, and
// on a virtual machine each of these sleeps costs as much as a message does.
// Deadlines are kept by the host's clock and are not affected. A kernel that
// refuses makes workers slower and nothing else.
func relaxTimerSlack() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0) }
