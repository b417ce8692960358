package lockdown

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data; arguments are 64 bits, low half first.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// Filter is a system call filter under construction. Every rule is skipped
// unless the call's number is loaded and equal; a rule that matches returns.
type Filter []unix.SockFilter

// Start refuses calls of another architecture and loads the call's number.
func (f *Filter) Start() {
	*f = append(*f, load(offArch), Jump(unix.BPF_JEQ, Arch, 1, 0), Answer(unix.SECCOMP_RET_KILL_PROCESS), load(offNumber))
}

// On gives one call its own rule. The body must end in an answer.
func (f *Filter) On(call uint32, body ...unix.SockFilter) {
	*f = append(*f, Jump(unix.BPF_JEQ, call, 0, uint8(len(body))))
	*f = append(*f, body...)
}

// Allow lets calls through whatever their arguments.
func (f *Filter) Allow(calls ...uint32) {
	for _, c := range calls {
		f.On(c, Answer(unix.SECCOMP_RET_ALLOW))
	}
}

// Fail lets calls fail harmlessly.
func (f *Filter) Fail(errno unix.Errno, calls ...uint32) {
	for _, c := range calls {
		f.On(c, Answer(Fails(errno)))
	}
}

// AllowArg lets a call through if its n-th argument is one of the values, and
// otherwise answers with action.
func (f *Filter) AllowArg(action, call, n uint32, values ...uint32) {
	f.On(call, OneOf(action, n, values...)...)
}

// Install puts the filter, which the caller has ended with an answer, on every
// thread. The process must have given up privileges.
func (f Filter) Install() error {
	if Arch == 0 {
		return errors.New("no filter for this architecture")
	}
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	thread, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	if thread != 0 {
		return fmt.Errorf("thread %d cannot take the filter", thread)
	}
	return nil
}

// Jump skips instructions, by whether the loaded value passes a test against k.
func Jump(test uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

// LoadArg loads the low half of the n-th argument.
func LoadArg(n uint32) unix.SockFilter { return load(offArgs + 8*n) }

// Answer ends a rule.
func Answer(action uint32) unix.SockFilter { return stmt(unix.BPF_RET|unix.BPF_K, action) }

// Fails is the action that makes a call fail.
func Fails(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// OneOf is the end of a rule that allows if the low half of the n-th argument is
// one of the values, and otherwise answers with action.
func OneOf(action, n uint32, values ...uint32) []unix.SockFilter {
	body := []unix.SockFilter{LoadArg(n)}
	for i, v := range values {
		body = append(body, Jump(unix.BPF_JEQ, v, uint8(len(values)-i), 0))
	}
	return append(body, Answer(action), Answer(unix.SECCOMP_RET_ALLOW))
}

// Without is the start of a rule that answers with action if the n-th argument has a
// bit of mask.
func Without(action, n, mask uint32) []unix.SockFilter {
	return []unix.SockFilter{LoadArg(n), Jump(unix.BPF_JSET, mask, 0, 1), Answer(action)}
}

func stmt(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

func load(offset uint32) unix.SockFilter { return stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset) }
