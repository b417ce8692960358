package sandbox

import (
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deed is what a worker must not do, and how exactly the system refuses it.
type deed struct {
	do   func() error
	want unix.Errno // 0: the process is killed by SIGSYS
}

const (
	killed unix.Errno = 0
	page              = 4096
	others            = 1<<22 - 1 // a process id that is not the worker's
)

// Operations of futex that package unix does not name.
const (
	futexCompareRequeue = 4
	futexLockPI         = 6
)

// forbidden are all deeds that no worker may do.
var forbidden = map[string]deed{
	"open a file":      {func() error { return first(unix.Open("/etc/passwd", unix.O_RDONLY, 0)) }, unix.EACCES},
	"open own memory":  {func() error { return first(unix.Open("/proc/self/mem", unix.O_RDWR, 0)) }, unix.EACCES},
	"create a file":    {func() error { return first(unix.Open("/tmp/x", unix.O_CREAT|unix.O_WRONLY, 0o600)) }, unix.EACCES},
	"stat a file":      {func() error { return unix.Stat("/", new(unix.Stat_t)) }, unix.EACCES},
	"list a directory": {func() error { return first(unix.Open("/", unix.O_DIRECTORY, 0)) }, unix.EACCES},
	"remove a file":    {func() error { return unix.Unlink("/tmp/x") }, killed},

	"internet socket":      {func() error { return first(unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)) }, killed},
	"datagram socket":      {func() error { return first(unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)) }, killed},
	"unix socket":          {func() error { return first(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)) }, killed},
	"netlink socket":       {func() error { return first(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)) }, killed},
	"send a message":       {sendMessage, killed},
	"read the other pipe":  {func() error { return first(unix.Read(toHost, make([]byte, 1))) }, killed},
	"write the other pipe": {func() error { return first(unix.Write(fromHost, make([]byte, 1))) }, killed},
	"send descriptors":     {func() error { return unix.Sendmsg(fromHost, nil, unix.UnixRights(logPipe), nil, 0) }, killed},

	"kill another process":     {func() error { return unix.Kill(others, 0) }, killed},
	"signal every process":     {func() error { return unix.Kill(-1, 0) }, killed},
	"signal another's thread":  {func() error { return unix.Tgkill(others, others, 0) }, killed},
	"trace":                    {func() error { return unix.PtraceAttach(2) }, killed},
	"be traced":                {func() error { return raw(unix.SYS_PTRACE, unix.PTRACE_TRACEME) }, killed},
	"read another's memory":    {func() error { return raw(unix.SYS_PROCESS_VM_READV, others) }, killed},
	"write another's memory":   {func() error { return raw(unix.SYS_PROCESS_VM_WRITEV, others) }, killed},
	"hold another process":     {func() error { return first(unix.PidfdOpen(1, 0)) }, killed},
	"take another's file":      {func() error { return first(unix.PidfdGetfd(fromHost, 0, 0)) }, killed},
	"fork":                     {func() error { return raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD)) }, killed},
	"clone3":                   {func() error { return raw(unix.SYS_CLONE3, 0, 0) }, unix.ENOSYS},
	"exec":                     {func() error { return unix.Exec("/proc/self/exe", []string{"x"}, nil) }, killed},
	"exec a descriptor":        {func() error { return raw(unix.SYS_EXECVEAT, fromHost) }, killed},
	"user namespace":           {func() error { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) }, killed},
	"another's namespace":      {func() error { return unix.Setns(fromHost, 0) }, killed},
	"mount":                    {func() error { return unix.Mount("tmpfs", "/", "tmpfs", 0, "") }, killed},
	"change the root":          {func() error { return unix.Chroot("/") }, killed},
	"become root":              {func() error { return raw(unix.SYS_SETUID, 0) }, killed},
	"become root's group":      {func() error { return raw(unix.SYS_SETGID, 0) }, killed},
	"take capabilities":        {func() error { return raw(unix.SYS_CAPSET, 0, 0) }, killed},
	"keyring":                  {func() error { return first(unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)) }, killed},
	"bpf":                      {func() error { return raw(unix.SYS_BPF, 0, 0, 0) }, killed},
	"io_uring":                 {func() error { return raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(new([128]byte)))) }, killed},
	"userfaultfd":              {func() error { return raw(unix.SYS_USERFAULTFD, 0) }, killed},
	"perf":                     {func() error { return raw(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0) }, killed},
	"another filter":           {func() error { return raw(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL) }, killed},
	"set the clock":            {func() error { return unix.Settimeofday(&unix.Timeval{}) }, killed},
	"load a module":            {func() error { return unix.InitModule(nil, "") }, killed},
	"be traceable":             {func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }, unix.EPERM},
	"outlive the host":         {func() error { return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) }, unix.EPERM},
	"read stdin":               {func() error { return first(unix.Read(0, make([]byte, 1))) }, killed},
	"write stdout":             {func() error { return first(unix.Write(1, []byte("x"))) }, killed},
	"duplicate a descriptor":   {func() error { return first(unix.Dup(fromHost)) }, killed},
	"duplicate it by fcntl":    {func() error { return first(unix.FcntlInt(fromHost, unix.F_DUPFD, 0)) }, unix.EPERM},
	"change a descriptor":      {func() error { return first(unix.FcntlInt(fromHost, unix.F_SETFL, unix.O_NONBLOCK)) }, unix.EPERM},
	"memory that is a file":    {func() error { return first(unix.MemfdCreate("x", 0)) }, killed},
	"executable memory":        {mapping(unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON), killed},
	"make code executable":     {makeExecutable, killed},
	"shared memory":            {mapping(unix.PROT_READ, unix.MAP_SHARED|unix.MAP_ANON), killed},
	"huge pages":               {mapping(unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_HUGETLB), killed},
	"a stack that grows":       {mapping(unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_GROWSDOWN), killed},
	"locked memory":            {mapping(unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_LOCKED), killed},
	"map a file":               {mapping(unix.PROT_READ, unix.MAP_PRIVATE), killed},
	"move memory":              {func() error { return raw(unix.SYS_MREMAP, 0, page, page, 0) }, killed},
	"merge memory":             {func() error { return raw(unix.SYS_MADVISE, 0, page, unix.MADV_MERGEABLE) }, killed},
	"remove memory":            {func() error { return raw(unix.SYS_MADVISE, 0, page, unix.MADV_REMOVE) }, killed},
	"look at pages":            {func() error { return raw(unix.SYS_MINCORE, 0, page, 0) }, killed},
	"futex of another process": {futex(0), killed},
	"futex of priorities":      {futex(futexLockPI | futexPrivate), killed},
	"futex that requeues":      {futex(futexCompareRequeue | futexPrivate), killed},

	"more memory than allowed":   {exceed(unix.MAP_PRIVATE | unix.MAP_ANON), unix.ENOMEM},
	"memory that may be dropped": {exceed(unix.MAP_DROPPABLE | unix.MAP_ANON), unix.ENOMEM},
	"raise the memory limit":     {raiseMemory, unix.EPERM},
	"raise the file limit":       {limitOf(unix.RLIMIT_NOFILE, 100), unix.EACCES},
	"lower the file limit":       {limitOf(unix.RLIMIT_NOFILE, 4), unix.EACCES},
	"lower the stack":            {limitOf(unix.RLIMIT_STACK, page), unix.EACCES},
	"another's limits":           {func() error { return unix.Prlimit(2, unix.RLIMIT_DATA, nil, new(unix.Rlimit)) }, unix.EACCES},
}

var probes = map[string]func() error{}

func init() {
	if runtime.GOARCH == "amd64" {
		const archSetGS = 0x1001
		forbidden["set a segment"] = deed{func() error { return raw(archPrctl, archSetGS, 0) }, killed}
	}
	for name, f := range harmless {
		probes[name] = f
	}
	for name, d := range forbidden {
		probes[name] = d.do
	}
}

// archPrctl is the number of arch_prctl, which only amd64 has.
const archPrctl = 158

// sendMessage sends a message that a socket would take.
func sendMessage() error {
	return raw(unix.SYS_SENDMSG, fromHost, uintptr(unsafe.Pointer(new(unix.Msghdr))), 0)
}

func mapping(prot, flags uintptr) func() error {
	return func() error { return raw(unix.SYS_MMAP, 0, page, prot, flags, fromHost) }
}

// makeExecutable does not fail where the mapping itself fails: only a refusal
// of the second step counts.
func makeExecutable() error {
	b, err := unix.Mmap(-1, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil
	}
	return unix.Mprotect(b, unix.PROT_READ|unix.PROT_EXEC)
}

func futex(operation uintptr) func() error {
	return func() error { return raw(unix.SYS_FUTEX, uintptr(unsafe.Pointer(new(uint32))), operation, 1) }
}

// exceed maps more than a small guest's process may have.
func exceed(flags uintptr) func() error {
	return func() error {
		if err := LimitMemory(1 << 20); err != nil {
			return err
		}
		return raw(unix.SYS_MMAP, 0, 1<<30, unix.PROT_READ|unix.PROT_WRITE, flags, ^uintptr(0))
	}
}

// raiseMemory takes the least step above what the process was limited to.
func raiseMemory() error {
	if err := LimitMemory(1 << 20); err != nil {
		return err
	}
	var now unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_DATA, nil, &now); err != nil {
		return err
	}
	return unix.Prlimit(0, unix.RLIMIT_DATA, &unix.Rlimit{Cur: now.Cur, Max: now.Max + page}, nil)
}

func limitOf(resource int, value uint64) func() error {
	return func() error { return unix.Prlimit(0, resource, &unix.Rlimit{Cur: value, Max: value}, nil) }
}

// TestAWorkerMayDoNothingElse tries every forbidden deed and accepts no other
// refusal than the one that is named.
func TestAWorkerMayDoNothingElse(t *testing.T) {
	for variant, namespaces := range variants(t) {
		for name, d := range forbidden {
			t.Run(variant+"/"+name, func(t *testing.T) {
				_, answer, status := run(t, name, standard(namespaces))
				if d.want == killed {
					if answer != "" || !status.Signaled() || status.Signal() != syscall.SIGSYS {
						t.Errorf("answer %q, status %#x; want SIGSYS", answer, uint32(status))
					}
					return
				}
				if answer != d.want.Error() || status != 0 {
					t.Errorf("answer %q, status %#x; want %q", answer, uint32(status), d.want)
				}
			})
		}
	}
}
