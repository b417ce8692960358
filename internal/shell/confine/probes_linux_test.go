package confine_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// escape is something that a command tries, and how exactly it is refused.
type escape struct {
	try  func() error
	want []unix.Errno
}

func refusedBy(try func() error, want ...unix.Errno) escape { return escape{try, want} }

// What a probe finds in its environment: things of the machine that it is after.
const (
	secretVar   = "PROBE_SECRET"   // a file outside
	hiddenVar   = "PROBE_HIDDEN"   // a file in the work directory that is denied
	workVar     = "PROBE_WORK"     // the work directory
	readVar     = "PROBE_READ"     // a directory that may be read
	addressVar  = "PROBE_ADDRESS"  // where a TCP server of the machine listens
	abstractVar = "PROBE_ABSTRACT" // the name of an abstract socket of the machine
	socketVar   = "PROBE_SOCKET"   // a socket of the machine in the work directory
	victimVar   = "PROBE_VICTIM"   // the number of a process of the machine
)

// datagramSuffix turns the name of the socket into the name of a socket for datagrams.
const datagramSuffix = "-datagrams"

// datagramByPair takes one of a pair of sockets to another address, which no pair of
// streams can do.
func datagramByPair() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	return unix.Connect(pair[0], &unix.SockaddrUnix{Name: os.Getenv(socketVar) + datagramSuffix})
}

func first[T any](_ T, err error) error { return err }

func raw(call uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(call, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

// structure is the address of zeroes that a call may take for any structure.
func structure() uintptr { return uintptr(unsafe.Pointer(&zeroes)) }

var zeroes [4096]byte

func read(path string) func() error {
	return func() error { return first(os.ReadFile(path)) }
}

func readVarFile(name string) func() error {
	return func() error { return first(os.ReadFile(os.Getenv(name))) }
}

func write(path string) func() error {
	return func() error { return os.WriteFile(path, []byte("x"), 0o600) }
}

func socket(family, kind, protocol int) func() error {
	return func() error { return first(unix.Socket(family, kind, protocol)) }
}

func inWork(do func(path string) error) func() error {
	return func() error { return do(filepath.Join(os.Getenv(workVar), "probe")) }
}

func victim() int {
	pid, err := strconv.Atoi(os.Getenv(victimVar))
	if err != nil {
		panic(err)
	}
	return pid
}

// escapes are all attempts.
var escapes = map[string]escape{
	// Files.
	"a file outside":           refusedBy(readVarFile(secretVar), unix.ENOENT),
	"a file outside by a link": refusedBy(throughLink(secretVar), unix.ENOENT),
	"a file outside by dots": refusedBy(func() error {
		return first(os.ReadFile(os.Getenv(workVar) + strings.Repeat("/..", 64) + os.Getenv(secretVar)))
	}, unix.ENOENT),
	"a file outside by /proc/1/root":   refusedBy(func() error { return first(os.ReadFile("/proc/1/root" + os.Getenv(secretVar))) }, unix.EACCES),
	"a file outside by /proc/1/cwd":    refusedBy(func() error { return first(os.ReadDir("/proc/1/cwd")) }, unix.EACCES),
	"a file outside by another's root": refusedBy(func() error { return first(os.ReadDir(fmt.Sprintf("/proc/%d/root", victim()))) }, unix.ENOENT),
	"a file outside by the parent": refusedBy(func() error {
		return first(os.ReadDir(filepath.Dir(os.Getenv(secretVar))))
	}, unix.ENOENT),
	"a hidden file":                refusedBy(readVarFile(hiddenVar), unix.EACCES),
	"a hidden file by a link":      refusedBy(throughLink(hiddenVar), unix.EACCES),
	"a hidden file by a hard link": refusedBy(func() error { return os.Link(os.Getenv(hiddenVar), os.Getenv(workVar)+"/copy") }, unix.EXDEV, unix.EPERM),
	"remove a hidden file":         refusedBy(func() error { return os.Remove(os.Getenv(hiddenVar)) }, unix.EBUSY),
	"rename a hidden file":         refusedBy(func() error { return os.Rename(os.Getenv(hiddenVar), os.Getenv(workVar)+"/moved") }, unix.EBUSY, unix.EXDEV),
	"rename what holds a hidden one": refusedBy(func() error {
		dir := filepath.Dir(os.Getenv(hiddenVar))
		return os.Rename(dir, dir+"2")
	}, unix.EBUSY),
	"rename what holds that": refusedBy(func() error {
		return os.Rename(filepath.Dir(filepath.Dir(os.Getenv(hiddenVar))), os.Getenv(workVar)+"/moved")
	}, unix.EBUSY),
	"make a hidden file readable": refusedBy(func() error { return os.Chmod(os.Getenv(hiddenVar), 0o777) }, unix.EROFS),
	"replace a hidden file":       refusedBy(func() error { return os.WriteFile(os.Getenv(hiddenVar), nil, 0o600) }, unix.EACCES, unix.EROFS),
	"write where only reading is": refusedBy(func() error { return os.WriteFile(os.Getenv(readVar)+"/x", nil, 0o600) }, unix.EROFS, unix.EACCES),
	"change a system's file":      refusedBy(func() error { return first(os.OpenFile("/usr/bin/env", os.O_WRONLY, 0)) }, unix.EROFS, unix.EACCES),
	"make a system's file":        refusedBy(write("/usr/bin/probe"), unix.EROFS, unix.EACCES),
	"make a file of the root":     refusedBy(write("/probe"), unix.EROFS, unix.EACCES),
	"the passwords":               refusedBy(read("/etc/shadow"), unix.ENOENT),
	"change the users":            refusedBy(func() error { return first(os.OpenFile("/etc/passwd", os.O_WRONLY, 0)) }, unix.EROFS, unix.EACCES),
	"the home of root":            refusedBy(func() error { return first(os.ReadDir("/root")) }, unix.ENOENT),
	"the sockets of /run":         refusedBy(func() error { return first(os.Stat("/run/docker.sock")) }, unix.ENOENT),
	"the devices of /sys":         refusedBy(func() error { return first(os.ReadDir("/sys")) }, unix.ENOENT),
	"a file handle":               refusedBy(func() error { return raw(unix.SYS_OPEN_BY_HANDLE_AT, 3, structure(), 0) }, unix.EPERM),
	"openat2":                     refusedBy(func() error { return raw(unix.SYS_OPENAT2, 0, structure(), structure(), 24) }, unix.ENOSYS),

	// Files that run as their owner.
	"chmod u+s":     refusedBy(inWork(func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o700), unix.Chmod(p, 0o4755)) }), unix.EPERM),
	"chmod g+s":     refusedBy(inWork(func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o700), unix.Chmod(p, 0o2755)) }), unix.EPERM),
	"fchmod u+s":    refusedBy(inWork(fchmod), unix.EPERM),
	"fchmodat2 u+s": refusedBy(inWork(func(p string) error { return raw(unix.SYS_FCHMODAT2, 0, pathPointer(p), 0o4755, 0) }), unix.EPERM),
	"open with u+s": refusedBy(inWork(func(p string) error { return first(unix.Open(p, unix.O_CREAT|unix.O_WRONLY, 0o4755)) }), unix.EPERM),
	"a temporary file with u+s": refusedBy(func() error {
		return first(unix.Open(os.Getenv(workVar), unix.O_TMPFILE|unix.O_WRONLY, 0o4755))
	}, unix.EPERM),
	"mknod with u+s": refusedBy(inWork(func(p string) error { return unix.Mknod(p, unix.S_IFREG|0o4755, 0) }), unix.EPERM),
	"file capabilities": refusedBy(inWork(func(p string) error {
		return errors.Join(os.WriteFile(p, nil, 0o700), unix.Setxattr(p, "security.capability", make([]byte, 20), 0))
	}), unix.EPERM, unix.EINVAL),
	"file attributes": refusedBy(inWork(func(p string) error { return raw(unix.SYS_FILE_SETATTR, 0, pathPointer(p), structure(), 24, 0) }), unix.ENOSYS),

	// Mounts and namespaces.
	"mount":                 refusedBy(func() error { return unix.Mount("tmpfs", "/tmp", "tmpfs", 0, "") }, unix.EPERM),
	"make it writable":      refusedBy(func() error { return unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, "") }, unix.EPERM),
	"uncover a hidden file": refusedBy(func() error { return unix.Unmount(os.Getenv(hiddenVar), unix.MNT_DETACH) }, unix.EPERM),
	"a mount's attributes": refusedBy(func() error {
		return unix.MountSetattr(unix.AT_FDCWD, "/usr", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	}, unix.EPERM),
	"a copy of a mount":   refusedBy(func() error { return first(unix.OpenTree(unix.AT_FDCWD, "/usr", unix.OPEN_TREE_CLONE)) }, unix.EPERM),
	"move a mount":        refusedBy(func() error { return unix.MoveMount(unix.AT_FDCWD, "/usr", unix.AT_FDCWD, "/tmp", 0) }, unix.EPERM),
	"a new file system":   refusedBy(func() error { return first(unix.Fsopen("tmpfs", 0)) }, unix.EPERM),
	"chroot":              refusedBy(func() error { return unix.Chroot("/tmp") }, unix.EPERM),
	"pivot_root":          refusedBy(func() error { return unix.PivotRoot("/tmp", "/tmp") }, unix.EPERM),
	"unshare a user":      refusedBy(func() error { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) }, unix.EPERM),
	"unshare mounts":      refusedBy(func() error { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWNS) }, unix.EPERM),
	"unshare the net":     refusedBy(func() error { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWNET) }, unix.EPERM),
	"unshare the time":    refusedBy(func() error { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWTIME) }, unix.EPERM),
	"clone a user":        refusedBy(func() error { return raw(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD)) }, unix.EPERM),
	"clone3":              refusedBy(func() error { return raw(unix.SYS_CLONE3, structure(), 88) }, unix.ENOSYS),
	"another's namespace": refusedBy(func() error { return first(os.Open("/proc/1/ns/net")) }, unix.EACCES, unix.EPERM),
	"setns":               refusedBy(func() error { return unix.Setns(0, 0) }, unix.EPERM),
	"a device":            refusedBy(inWork(func(p string) error { return unix.Mknod(p, unix.S_IFCHR|0o600, 1<<8|1) }), unix.EPERM, unix.EACCES),
	"a disk":              refusedBy(inWork(func(p string) error { return unix.Mknod(p, unix.S_IFBLK|0o600, 8<<8) }), unix.EPERM, unix.EACCES),
	"the kernel's log":    refusedBy(read("/dev/kmsg"), unix.ENOENT),
	"the disks":           refusedBy(read("/dev/sda"), unix.ENOENT),
	"a hypervisor":        refusedBy(read("/dev/kvm"), unix.ENOENT),
	"write settings":      refusedBy(write("/proc/sys/kernel/core_pattern"), unix.EROFS, unix.EACCES),
	"write own settings":  refusedBy(write("/proc/sys/net/ipv4/ip_forward"), unix.EROFS, unix.EACCES),
	"restart by a key":    refusedBy(write("/proc/sysrq-trigger"), unix.ENOENT, unix.EROFS, unix.EACCES),
	"the kernel's memory": refusedBy(read("/proc/kcore"), unix.EACCES, unix.EPERM, unix.ENOENT),

	// Processes.
	"see another process":       refusedBy(func() error { return first(os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", victim()))) }, unix.ENOENT),
	"kill another process":      refusedBy(func() error { return unix.Kill(victim(), unix.SIGKILL) }, unix.ESRCH),
	"hold another process":      refusedBy(func() error { return first(unix.PidfdOpen(victim(), 0)) }, unix.ESRCH, unix.EINVAL),
	"limits of another":         refusedBy(func() error { return unix.Prlimit(victim(), unix.RLIMIT_NOFILE, nil, new(unix.Rlimit)) }, unix.ESRCH),
	"trace":                     refusedBy(func() error { return unix.PtraceAttach(1) }, unix.EPERM),
	"be traced":                 refusedBy(func() error { return raw(unix.SYS_PTRACE, unix.PTRACE_TRACEME) }, unix.EPERM),
	"read another's memory":     refusedBy(func() error { return raw(unix.SYS_PROCESS_VM_READV, 1, structure(), 1, structure(), 1, 0) }, unix.EPERM),
	"write another's memory":    refusedBy(func() error { return raw(unix.SYS_PROCESS_VM_WRITEV, 1, structure(), 1, structure(), 1, 0) }, unix.EPERM),
	"the memory of the init":    refusedBy(func() error { return first(os.Open("/proc/1/mem")) }, unix.EACCES, unix.EPERM),
	"the map of the init":       refusedBy(read("/proc/1/maps"), unix.EACCES, unix.EPERM),
	"the files of the init":     refusedBy(func() error { return first(os.ReadDir("/proc/1/fd")) }, unix.EACCES, unix.EPERM),
	"the variables of the init": refusedBy(read("/proc/1/environ"), unix.EACCES, unix.EPERM),
	"a file of the init":        refusedBy(func() error { return raw(unix.SYS_PIDFD_GETFD, 0, 3, 0) }, unix.EPERM),
	"compare with the init":     refusedBy(func() error { return raw(unix.SYS_KCMP, 1, 1, 0, 0, 0) }, unix.EPERM),
	"become root":               refusedBy(func() error { return raw(unix.SYS_SETUID, 0) }, unix.EPERM, unix.EINVAL),
	"become root's group":       refusedBy(func() error { return raw(unix.SYS_SETGID, 0) }, unix.EPERM, unix.EINVAL),
	"become the machine's":      refusedBy(func() error { return raw(unix.SYS_SETRESUID, 65534, 65534, 65534) }, unix.EPERM, unix.EINVAL),
	"join groups":               refusedBy(func() error { return unix.Setgroups([]int{0}) }, unix.EPERM),
	"take capabilities":         refusedBy(takeCapabilities, unix.EPERM),
	"raise the processes":       refusedBy(raise(unix.RLIMIT_NPROC), unix.EPERM),
	"raise the memory":          refusedBy(raise(unix.RLIMIT_DATA), unix.EPERM),
	"raise the files":           refusedBy(raise(unix.RLIMIT_FSIZE), unix.EPERM),
	"more memory":               refusedBy(tooMuchMemory, unix.ENOMEM),
	"real time": refusedBy(func() error {
		return raw(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_FIFO, uintptr(unsafe.Pointer(&priority)))
	}, unix.EPERM),
	"another personality": refusedBy(func() error { return raw(unix.SYS_PERSONALITY, 0x0040000) }, unix.EPERM),
	"move pages":          refusedBy(func() error { return raw(unix.SYS_MOVE_PAGES, 1, 0, 0, 0, 0, 0) }, unix.EPERM),

	// Sockets.
	"a server of the machine": refusedBy(func() error { return first(net.Dial("tcp", os.Getenv(addressVar))) }, unix.ECONNREFUSED),
	"the internet":            refusedBy(func() error { return first(net.Dial("udp", "192.0.2.1:53")) }, unix.ENETUNREACH),
	"the internet, version 6": refusedBy(func() error { return first(net.Dial("udp", "[2001:db8::1]:53")) }, unix.ENETUNREACH),
	"metadata of a cloud":     refusedBy(func() error { return first(net.Dial("tcp", "169.254.169.254:80")) }, unix.ENETUNREACH),
	"an abstract socket":      refusedBy(func() error { return first(net.Dial("unix", os.Getenv(abstractVar))) }, unix.EPERM),
	"a socket of a directory": refusedBy(func() error { return first(net.Dial("unix", os.Getenv(socketVar))) }, unix.EPERM),
	"a datagram by a pair":    refusedBy(datagramByPair, unix.EPERM),
	"a datagram to a socket":  refusedBy(socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0), unix.EPERM),
	"netlink":                 refusedBy(socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE), unix.EPERM),
	"packets":                 refusedBy(socket(unix.AF_PACKET, unix.SOCK_RAW, 0), unix.EPERM),
	"the hypervisor's socket": refusedBy(socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0), unix.EPERM),
	"the kernel's ciphers":    refusedBy(socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0), unix.EPERM),
	"bluetooth":               refusedBy(socket(unix.AF_BLUETOOTH, unix.SOCK_RAW, 1), unix.EPERM),
	"raw internet":            refusedBy(socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP), unix.EPERM),

	// The terminal.
	"type into the terminal":     refusedBy(func() error { return raw(unix.SYS_IOCTL, 0, unix.TIOCSTI, structure()) }, unix.EPERM),
	"type by a large number":     refusedBy(func() error { return raw(unix.SYS_IOCTL, 0, 1<<32|unix.TIOCSTI, structure()) }, unix.EPERM),
	"paste into the console":     refusedBy(func() error { return raw(unix.SYS_IOCTL, 0, unix.TIOCLINUX, structure()) }, unix.EPERM),
	"take the console":           refusedBy(func() error { return raw(unix.SYS_IOCTL, 0, unix.TIOCCONS, 0) }, unix.EPERM),
	"a discipline of a terminal": refusedBy(func() error { return raw(unix.SYS_IOCTL, 0, unix.TIOCSETD, structure()) }, unix.EPERM),
	"a terminal of the machine":  refusedBy(func() error { return first(os.OpenFile("/dev/tty", os.O_RDWR, 0)) }, unix.ENXIO),
	"terminals of the machine":   refusedBy(func() error { return first(os.Stat("/dev/pts/0")) }, unix.ENOENT),

	// The kernel.
	"keys":               refusedBy(func() error { return first(unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)) }, unix.EPERM),
	"add a key":          refusedBy(func() error { return first(unix.AddKey("user", "probe", []byte("x"), unix.KEY_SPEC_USER_KEYRING)) }, unix.EPERM),
	"request a key":      refusedBy(func() error { return first(unix.RequestKey("user", "probe", "", unix.KEY_SPEC_USER_KEYRING)) }, unix.EPERM),
	"programs":           refusedBy(func() error { return raw(unix.SYS_BPF, 0, 0, 0) }, unix.EPERM),
	"io_uring":           refusedBy(func() error { return raw(unix.SYS_IO_URING_SETUP, 1, structure()) }, unix.EPERM),
	"perf":               refusedBy(func() error { return raw(unix.SYS_PERF_EVENT_OPEN, structure(), 0, 0, 0, 0) }, unix.EPERM),
	"page faults":        refusedBy(func() error { return raw(unix.SYS_USERFAULTFD, 0) }, unix.EPERM),
	"modules":            refusedBy(func() error { return unix.InitModule(nil, "") }, unix.EPERM),
	"restart":            refusedBy(func() error { return unix.Reboot(unix.LINUX_REBOOT_CMD_CAD_OFF) }, unix.EPERM),
	"another kernel":     refusedBy(func() error { return raw(unix.SYS_KEXEC_LOAD) }, unix.EPERM),
	"the clock":          refusedBy(func() error { return unix.Settimeofday(&unix.Timeval{}) }, unix.EPERM),
	"the clock's rate":   refusedBy(func() error { return first(unix.Adjtimex(&unix.Timex{})) }, unix.EPERM),
	"the name":           refusedBy(func() error { return unix.Sethostname([]byte("x")) }, unix.EPERM),
	"swap":               refusedBy(func() error { return raw(unix.SYS_SWAPON, 0, 0) }, unix.EPERM),
	"accounting":         refusedBy(func() error { return unix.Acct("") }, unix.EPERM),
	"the log":            refusedBy(func() error { return first(unix.Klogctl(10, nil)) }, unix.EPERM),
	"quotas":             refusedBy(func() error { return raw(unix.SYS_QUOTACTL, 0, 0, 0, 0) }, unix.EPERM),
	"watch a mount":      refusedBy(func() error { return first(unix.FanotifyInit(0, 0)) }, unix.EPERM),
	"a call of tomorrow": refusedBy(func() error { return raw(600) }, unix.ENOSYS),
}

func init() {
	if runtime.GOARCH == "amd64" {
		const x32 = 0x40000000
		escapes["a call of x32"] = refusedBy(func() error { return raw(x32 | 39) }, unix.ENOSYS)
		escapes["ports"] = refusedBy(func() error { return raw(172, 3) }, unix.EPERM) // iopl
		escapes["segments"] = refusedBy(func() error { return raw(154, 0, structure(), 16) }, unix.EPERM)
	}
}

var priority int32 = 1

func pathPointer(path string) uintptr {
	copied := append([]byte(path), 0)
	kept = append(kept, copied)
	return uintptr(unsafe.Pointer(&copied[0]))
}

// kept are paths that the kernel is given as numbers.
var kept [][]byte

// throughLink reads what a variable names by a link in the work directory.
func throughLink(name string) func() error {
	return func() error {
		link := os.Getenv(workVar) + "/link"
		if err := os.Symlink(os.Getenv(name), link); err != nil {
			return err
		}
		return first(os.ReadFile(link))
	}
}

func fchmod(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return unix.Fchmod(int(f.Fd()), 0o4755)
}

func takeCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return unix.Capset(&header, &[]unix.CapUserData{{Effective: 1 << unix.CAP_SYS_ADMIN, Permitted: 1 << unix.CAP_SYS_ADMIN}, {}}[0])
}

func raise(resource int) func() error {
	return func() error {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(resource, &now); err != nil {
			return err
		}
		return unix.Setrlimit(resource, &unix.Rlimit{Cur: now.Max + 1, Max: now.Max + 1})
	}
}

func tooMuchMemory() error {
	return first(unix.Mmap(-1, 0, 2<<30, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON))
}
