package sandbox

import (
	"fmt"
	"math"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/guestrt/wire"
)

// firstExtra is the first descriptor a worker must not have: 0 and 1 are
// /dev/null, 2 is the log pipe, 3 the connection to the host.
const firstExtra = 4

// Seal confines the calling process for good and reports every layer. It must
// run before other goroutines hold descriptors beyond 3.
func Seal(p Policy) []wire.Layer {
	held, heldErr := privateMemory()
	sealed.held = held
	steps := []struct {
		name  string
		apply func() (detail string, err error)
	}{
		{LayerUser, checkUser},
		{LayerEnvironment, checkEnvironment},
		{LayerFiles, closeDescriptors},
		{LayerDumpable, forbidTracing},
		{LayerLimits, func() (string, error) { return setLimits(p, held, heldErr) }},
		{LayerPrivileges, forbidPrivileges},
	}
	layers := make([]wire.Layer, 0, len(steps)+3)
	for _, s := range steps {
		detail, err := s.apply()
		l := wire.Layer{Name: s.name, State: wire.LayerOn, Detail: detail}
		if err != nil {
			l.State, l.Detail = wire.LayerFailed, err.Error()
		}
		layers = append(layers, l)
	}
	return append(layers, missing()...)
}

func checkUser() (string, error) {
	uid := os.Getuid()
	if uid == 0 || os.Geteuid() == 0 {
		return "", fmt.Errorf("the worker runs as root")
	}
	return fmt.Sprintf("uid %d", uid), nil
}

func checkEnvironment() (string, error) {
	env, want := os.Environ(), Env()
	slices.Sort(env)
	slices.Sort(want)
	if !slices.Equal(env, want) {
		return "", fmt.Errorf("the worker was started with %d variables it must not have", len(env))
	}
	return "", nil
}

func closeDescriptors() (string, error) {
	return "", unix.CloseRange(firstExtra, math.MaxUint32, 0)
}

func forbidTracing() (string, error) {
	return "", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

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
		{unix.RLIMIT_NOFILE, 8},
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

// forbidPrivileges sets no_new_privs on every thread.
func forbidPrivileges() (string, error) {
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	switch errno {
	case 0:
		return "", nil
	case syscall.ENOTSUP:
		// A binary with cgo cannot reach all its threads; those started from
		// here on inherit the flag of this one.
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return "", err
		}
		return "", fmt.Errorf("set on one thread only: the worker was built with cgo")
	}
	return "", errno
}
