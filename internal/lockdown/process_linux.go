package lockdown

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrCgo is why a step cannot be taken on every thread: the process may have threads
// that the Go runtime does not know. It has not been taken on any.
var ErrCgo = errors.New("the worker was built with cgo")

// Threads makes a system call on the threads that a step is for.
type Threads func(call, a, b, c uintptr) error

// ThisThread makes a system call on the calling thread, and on those it starts later.
// A step for it alone confines a process that the thread starts.
func ThisThread(call, a, b, c uintptr) error {
	if _, _, errno := unix.RawSyscall(call, a, b, c); errno != 0 {
		return errno
	}
	return nil
}

// ForbidTracing makes the process one that writes no core dump and that others of the
// same user cannot trace.
func ForbidTracing() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// ForbidPrivileges sets no_new_privs.
func ForbidPrivileges(threads Threads) error {
	return threads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
}

// capabilities are the arguments of capset. They are no variables of a function: its
// stack may move before the call.
var capabilities = struct {
	header unix.CapUserHeader
	none   [2]unix.CapUserData
}{header: unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}}

// DropCapabilities gives up what a new user namespace grants its first process
// and makes sure that nothing is left. With EveryThread and cgo it looks at the calling
// thread and changes nothing.
func DropCapabilities(threads Threads) error {
	if err := threads(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0); err != nil && !errors.Is(err, ErrCgo) {
		return err
	}
	err := threads(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&capabilities.header)), uintptr(unsafe.Pointer(&capabilities.none[0])), 0)
	if err != nil && !errors.Is(err, ErrCgo) {
		return err
	}
	var left [2]unix.CapUserData
	if err := unix.Capget(&capabilities.header, &left[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	if left != capabilities.none {
		return errors.New("capabilities are left")
	}
	return nil
}

// LowerLimit sets both limits of a resource, never above the hard limit in force.
func LowerLimit(resource int, value uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(resource, &now); err != nil {
		return err
	}
	value = min(value, now.Max)
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value})
}

// ProcessesPerNamespace reports whether a kernel of that release counts the processes
// of a user in each user namespace by themselves, as Linux does since 5.14. The limit
// of processes can then bind what is in one namespace.
func ProcessesPerNamespace(release string) bool {
	var major, minor int
	n, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return n == 2 && err == nil && (major > 5 || major == 5 && minor >= 14)
}

// Status reads what the kernel tells about a process.
func Status(pid int) (map[string]string, error) {
	return readStatus(fmt.Sprintf("/proc/%d/status", pid))
}

// ThreadStatuses reads what the kernel tells about each thread of a process.
func ThreadStatuses(pid int) ([]map[string]string, error) {
	dir := fmt.Sprintf("/proc/%d/task/", pid)
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []map[string]string
	for _, t := range threads {
		status, err := readStatus(dir + t.Name() + "/status")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return nil, err
		}
		all = append(all, status)
	}
	if all == nil {
		return nil, fmt.Errorf("process %d has ended", pid)
	}
	return all, nil
}

func readStatus(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	status := map[string]string{}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		status[key] = strings.TrimSpace(value)
	}
	return status, nil
}
