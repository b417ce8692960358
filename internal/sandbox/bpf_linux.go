package sandbox

import "golang.org/x/sys/unix"

// Offsets in struct seccomp_data; arguments are 64 bits, low half first.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// program is a system call filter under construction. Every rule is skipped
// unless the call's number is loaded and equal; a rule that matches returns.
type program []unix.SockFilter

func stmt(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

func jump(test uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

func load(offset uint32) unix.SockFilter { return stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset) }
func loadArg(n uint32) unix.SockFilter   { return load(offArgs + 8*n) }
func answer(action uint32) unix.SockFilter {
	return stmt(unix.BPF_RET|unix.BPF_K, action)
}

func fails(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// start refuses calls of another architecture and loads the call's number.
func (p *program) start(arch uint32) {
	*p = append(*p, load(offArch), jump(unix.BPF_JEQ, arch, 1, 0), answer(unix.SECCOMP_RET_KILL_PROCESS), load(offNumber))
}

// on gives one call its own rule. The body must end in an answer.
func (p *program) on(call uint32, body ...unix.SockFilter) {
	*p = append(*p, jump(unix.BPF_JEQ, call, 0, uint8(len(body))))
	*p = append(*p, body...)
}

// allow lets calls through whatever their arguments.
func (p *program) allow(calls ...uint32) {
	for _, c := range calls {
		p.on(c, answer(unix.SECCOMP_RET_ALLOW))
	}
}

// fail lets calls fail harmlessly.
func (p *program) fail(errno unix.Errno, calls ...uint32) {
	for _, c := range calls {
		p.on(c, answer(fails(errno)))
	}
}

// allowArg lets a call through if its n-th argument is one of the values, and
// otherwise answers with action.
func (p *program) allowArg(action, call, n uint32, values ...uint32) {
	p.on(call, oneOf(action, n, values...)...)
}

// oneOf is the end of a rule that allows if the low half of the n-th argument is
// one of the values, and otherwise answers with action.
func oneOf(action, n uint32, values ...uint32) []unix.SockFilter {
	body := []unix.SockFilter{loadArg(n)}
	for i, v := range values {
		body = append(body, jump(unix.BPF_JEQ, v, uint8(len(values)-i), 0))
	}
	return append(body, answer(action), answer(unix.SECCOMP_RET_ALLOW))
}

// without is the start of a rule that kills if the n-th argument has a bit of
// mask.
func without(n, mask uint32) []unix.SockFilter {
	return []unix.SockFilter{loadArg(n), jump(unix.BPF_JSET, mask, 0, 1), answer(unix.SECCOMP_RET_KILL_PROCESS)}
}
