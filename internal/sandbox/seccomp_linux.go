package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/lockdown"
)

const (
	logPipe  = 2
	fromHost = 3
	toHost   = 4
	// poller and wake are the descriptors the Go runtime opens when it first
	// needs a timer; nothing else in a sealed worker can open one.
	poller = 5
	wake   = 6
)

// threads are exactly the flags that threads are made with.
var threads = []uint32{threadFlags, threadFlags | unix.CLONE_SETTLS}

// threadFlags are the flags the Go runtime makes a thread with.
const threadFlags = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD

// mappings are the flags of the mappings that the Go runtime and the C library
// of the engine make: private memory of no file. Shared memory would not count
// for the data limit, nor would a stack that grows.
var mappings = []uint32{
	unix.MAP_PRIVATE | unix.MAP_ANON,
	unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_FIXED,
	// The state of getrandom in the vDSO. It counts for the data limit.
	unix.MAP_DROPPABLE | unix.MAP_ANON,
}

// advices are what the Go runtime and the engine tell the kernel about memory.
var advices = []uint32{unix.MADV_DONTNEED, unix.MADV_FREE, unix.MADV_HUGEPAGE, unix.MADV_NOHUGEPAGE, unix.MADV_COLLAPSE}

// The operations of futex that the Go runtime uses. The others pass ownership
// and requeue, code of the kernel that many attacks went through.
const (
	futexWait = 0 | futexPrivate
	futexWake = 1 | futexPrivate

	futexPrivate = 128
)

// always are calls of the Go runtime that are harmless in a sealed process.
var always = []uint32{
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY, unix.SYS_MUNMAP,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RESTART_SYSCALL, unix.SYS_GETRANDOM,
	unix.SYS_CLOSE, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
}

// probing are calls that libraries try and can do without.
var probing = []uint32{
	unix.SYS_OPENAT, unix.SYS_FSTAT, unix.SYS_READLINKAT, unix.SYS_UNAME, unix.SYS_IOCTL, unix.SYS_GETCWD,
	unix.SYS_PREAD64, unix.SYS_FACCESSAT, unix.SYS_GETPPID, unix.SYS_GETUID,
}

// filterCalls kills the process at every system call that is not on the list.
func filterCalls() (string, error) {
	if lockdown.Arch == 0 {
		return "", &offError{"no filter for this architecture"}
	}
	if !lockdown.ThreadsKnown() {
		// The C library makes calls that the list does not know.
		return "", &offError{lockdown.ErrCgo.Error()}
	}
	filter := calls(uint32(os.Getpid()), sealed.poller)
	if err := filter.Install(); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d instructions", len(filter)), nil
}

// calls returns the filter of a worker with process id pid. Its poller has the
// given descriptors if it was started before the seal.
func calls(pid uint32, started []uint) lockdown.Filter {
	const kill = unix.SECCOMP_RET_KILL_PROCESS
	runtimes := []uint32{wake}
	for _, fd := range started {
		runtimes = append(runtimes, uint32(fd))
	}
	var p lockdown.Filter
	p.Start()
	p.Allow(always...)
	p.AllowArg(kill, unix.SYS_READ, 0, append(runtimes, fromHost)...)
	p.AllowArg(kill, unix.SYS_WRITE, 0, append(runtimes, toHost, logPipe)...)
	p.On(unix.SYS_MMAP, append(lockdown.Without(kill, 2, unix.PROT_EXEC), lockdown.OneOf(kill, 3, mappings...)...)...)
	p.On(unix.SYS_MPROTECT, append(lockdown.Without(kill, 2, unix.PROT_EXEC), lockdown.Answer(unix.SECCOMP_RET_ALLOW))...)
	p.AllowArg(kill, unix.SYS_MADVISE, 2, advices...)
	p.AllowArg(kill, unix.SYS_FUTEX, 1, futexWait, futexWake)
	onlyHere(&p, kill)
	forLibrary(&p)
	p.AllowArg(kill, unix.SYS_CLONE, 0, threads...)
	p.AllowArg(kill, unix.SYS_TGKILL, 0, pid)
	p.AllowArg(lockdown.Fails(unix.EPERM), unix.SYS_PRCTL, 0, unix.PR_SET_VMA)
	p.AllowArg(lockdown.Fails(unix.EPERM), unix.SYS_FCNTL, 1, unix.F_GETFL)
	p.On(unix.SYS_PRLIMIT64, ownDataLimit()...)
	p.Fail(unix.EACCES, probing...)
	p.Fail(unix.EACCES, probingHere...)
	p.Fail(unix.ENOSYS, unix.SYS_CLONE3)
	return append(p, lockdown.Answer(kill))
}

// ownDataLimit lets the worker move its own data limit below the hard one.
func ownDataLimit() []unix.SockFilter {
	return []unix.SockFilter{
		lockdown.LoadArg(0), lockdown.Jump(unix.BPF_JEQ, 0, 0, 2),
		lockdown.LoadArg(1), lockdown.Jump(unix.BPF_JEQ, unix.RLIMIT_DATA, 1, 0),
		lockdown.Answer(lockdown.Fails(unix.EACCES)),
		lockdown.Answer(unix.SECCOMP_RET_ALLOW),
	}
}
