package confine

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/lockdown"
)

// newest is the last system call that this list was made with. Later ones, of kernels
// that are newer, are as if they were not there.
const newest = unix.SYS_FILE_GETATTR

// refused are calls that no command needs, or that reach beyond the sandbox where the
// kernel has a hole.
var refused = []uint32{
	// File systems and namespaces.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_SETNS, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT,
	// Other processes.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP,
	unix.SYS_PIDFD_GETFD, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	// Keys, programs in the kernel, and what much of the kernel was attacked through.
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	// The machine.
	unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_ACCT,
	unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, unix.SYS_LOOKUP_DCOOKIE,
	// Domains of Landlock and the like, on top of ours: none but seccomp is needed by programs.
	unix.SYS_LSM_SET_SELF_ATTR,
}

// newNamespaces are the flags that make namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// unshareTime is CLONE_NEWTIME, which shares its bit with the signal of clone.
const unshareTime = unix.CLONE_NEWTIME

// setID are the bits that make a file run as its owner: on the machine, where others
// could run it, that is the owner of the writable directory.
const setID = unix.S_ISUID | unix.S_ISGID

// filterCalls puts the filter on.
func filterCalls() (string, error) {
	f := calls()
	return fmt.Sprintf("%d instructions", len(f)), f.Install()
}

func calls() lockdown.Filter {
	refuse := lockdown.Fails(unix.EPERM)
	allow := lockdown.Answer(unix.SECCOMP_RET_ALLOW)
	var f lockdown.Filter
	f.Start()
	f = append(f, lockdown.Jump(unix.BPF_JGT, newest, 0, 1), lockdown.Answer(lockdown.Fails(unix.ENOSYS)))
	f.Fail(unix.EPERM, refused...)
	f.Fail(unix.EPERM, refusedHere...)
	// Their flags are in memory, where a filter cannot see them. Programs know the calls
	// of before.
	f.Fail(unix.ENOSYS, unix.SYS_CLONE3, unix.SYS_OPENAT2)
	f.On(unix.SYS_CLONE, append(lockdown.Without(refuse, 0, newNamespaces), allow)...)
	f.On(unix.SYS_UNSHARE, append(lockdown.Without(refuse, 0, newNamespaces|unshareTime), allow)...)
	f.AllowArg(refuse, unix.SYS_SOCKET, 0, unix.AF_INET, unix.AF_INET6)
	f.On(unix.SYS_SOCKETPAIR, streamPairs(refuse)...)
	f.AllowArg(refuse, unix.SYS_PERSONALITY, 0, 0, 0x0008, 0x20000, 0x20008, 0xffffffff)
	f.On(unix.SYS_IOCTL, noneOf(refuse, 1, unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCCONS, unix.TIOCSETD)...)
	for call, n := range modes {
		f.On(call, append(lockdown.Without(refuse, n, setID), allow)...)
	}
	f.On(unix.SYS_OPENAT, makes(refuse, 2, 3)...)
	filterHere(&f, refuse)
	return append(f, allow)
}

// modes are the calls that give a file a mode, with the argument that is it.
var modes = map[uint32]uint32{unix.SYS_FCHMOD: 1, unix.SYS_FCHMODAT: 2, unix.SYS_FCHMODAT2: 2, unix.SYS_MKNODAT: 2}

// noneOf is a rule that answers with action if the n-th argument is one of the values.
func noneOf(action, n uint32, values ...uint32) []unix.SockFilter {
	rule := []unix.SockFilter{lockdown.LoadArg(n)}
	for i, v := range values {
		rule = append(rule, lockdown.Jump(unix.BPF_JEQ, v, uint8(len(values)-i), 0))
	}
	return append(rule, lockdown.Answer(unix.SECCOMP_RET_ALLOW), lockdown.Answer(action))
}

// streamPairs is the rule of socketpair: a socket for datagrams could be connected again,
// to one of the machine that a directory shows.
func streamPairs(action uint32) []unix.SockFilter {
	const kinds = 0xf // the rest are flags
	return []unix.SockFilter{
		lockdown.LoadArg(0), lockdown.Jump(unix.BPF_JEQ, unix.AF_UNIX, 0, 4),
		lockdown.LoadArg(1), {Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: kinds},
		lockdown.Jump(unix.BPF_JEQ, unix.SOCK_STREAM, 2, 0), lockdown.Jump(unix.BPF_JEQ, unix.SOCK_SEQPACKET, 1, 0),
		lockdown.Answer(action),
		lockdown.Answer(unix.SECCOMP_RET_ALLOW),
	}
}

// makes is the rule of a call that may make a file: it refuses a mode with setID, and
// does not look at the mode where no file is made.
func makes(action, flags, mode uint32) []unix.SockFilter {
	const makesFile = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	return []unix.SockFilter{
		lockdown.LoadArg(flags), lockdown.Jump(unix.BPF_JSET, makesFile, 0, 2),
		lockdown.LoadArg(mode), lockdown.Jump(unix.BPF_JSET, setID, 1, 0),
		lockdown.Answer(unix.SECCOMP_RET_ALLOW),
		lockdown.Answer(action),
	}
}
