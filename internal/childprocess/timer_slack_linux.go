package childprocess

import "golang.org/x/sys/unix"

// timerSlack is how late the kernel may make a program's sleep end.
const timerSlack = 1_000_000 // nanoseconds

// withRelaxedTimerSlack starts a process with sleeps that may end a little late, so
// that the kernel need not set a timer for each. A busy Go program has a thread that
// sleeps 20 µs at a time to watch the others, and on a virtual machine each of these
// sleeps costs as much as a message does. The caller's goroutine is locked to its
// thread. The thread's own timers are as before afterwards. A kernel that refuses
// makes programs slower and nothing else.
func withRelaxedTimerSlack(start func() error) error {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0)
	defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) }() // 0 is the thread's own
	return start()
}
