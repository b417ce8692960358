//go:build linux && (amd64 || arm64)

package quickjs

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the CPU time of this process so far. A worker runs one guest, so
// the difference over a turn is the guest's, give or take the runtime's own.
func cpuTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		// The clock exists on every kernel this runs on.
		panic("quickjs: CLOCK_PROCESS_CPUTIME_ID: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
