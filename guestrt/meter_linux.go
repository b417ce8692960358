package guestrt

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// meter measures a process from outside. What a worker says of itself is worth
// nothing once a program has taken it over.
type meter struct {
	clock int32    // its processor time
	statm *os.File // its memory; held open, so that it never is another process's
}

func newMeter(pid int) (meter, error) {
	statm, err := os.Open(fmt.Sprintf("/proc/%d/statm", pid))
	// The kernel's clock of a process has its complemented id above the three bits
	// that name the kind of clock.
	const everyThread = 2
	return meter{clock: int32(^pid<<3 | everyThread), statm: statm}, err
}

// cpu is the processor time of all threads of the process. It fails once the
// process is reaped.
func (m meter) cpu() (time.Duration, bool) {
	var ts unix.Timespec
	err := unix.ClockGettime(m.clock, &ts)
	return time.Duration(ts.Nano()), err == nil
}

// memory is what the data limit of the process counts, in bytes: writable private
// mappings, whether touched or not.
func (m meter) memory() (uint64, bool) {
	var b [256]byte
	n, _ := m.statm.ReadAt(b[:], 0) // it ends before b does, which is no error here
	const dataField = 5
	fields := bytes.Fields(b[:n])
	if len(fields) <= dataField {
		return 0, false
	}
	pages, err := strconv.ParseUint(string(fields[dataField]), 10, 64)
	return pages * uint64(os.Getpagesize()), err == nil
}

func (m meter) close() { m.statm.Close() }
