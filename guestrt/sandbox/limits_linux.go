package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// descriptors leaves room for the two the Go runtime's poller opens when it
// first needs a timer.
const descriptors = 8

func setLimits(p Policy, held uint64, err error) (string, error) {
	if err != nil {
		return "", err
	}
	limits := []struct {
		resource int
		value    uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_MEMLOCK, 0},
		{unix.RLIMIT_MSGQUEUE, 0},
		{unix.RLIMIT_NOFILE, descriptors},
		{unix.RLIMIT_DATA, dataLimit(held, p.MemoryBytes)},
		{unix.RLIMIT_AS, addressSpace},
	}
	for _, l := range limits {
		if err := lower(l.resource, l.value); err != nil {
			return "", fmt.Errorf("limit %d: %w", l.resource, err)
		}
	}
	return "", nil
}

// lower sets both limits of a resource, never above the hard limit in force.
func lower(resource int, value uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(resource, &now); err != nil {
		return err
	}
	value = min(value, now.Max)
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value})
}
