package lockdown

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// answerOf runs a filter over a call, as the kernel does.
func answerOf(t *testing.T, f Filter, arch, call uint32, args ...uint32) uint32 {
	t.Helper()
	program := make([]bpf.Instruction, len(f))
	for i, in := range f {
		program[i] = bpf.RawInstruction{Op: in.Code, Jt: in.Jt, Jf: in.Jf, K: in.K}.Disassemble()
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, offArgs+6*8) // struct seccomp_data, in the byte order of packets
	binary.BigEndian.PutUint32(data[offNumber:], call)
	binary.BigEndian.PutUint32(data[offArch:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[offArgs+8*i:], a)
	}
	answer, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(answer)
}

// TestCallsOfAnotherArchitectureKill: the numbers of a filter mean other calls there, as
// the numbers of int 0x80 do on x86-64.
func TestCallsOfAnotherArchitectureKill(t *testing.T) {
	t.Parallel()
	const kill, allow = uint32(unix.SECCOMP_RET_KILL_PROCESS), uint32(unix.SECCOMP_RET_ALLOW)
	var f Filter
	f.Start()
	f.Allow(unix.SYS_GETPID)
	f.Fail(unix.EPERM, unix.SYS_SOCKET)
	f.AllowArg(kill, unix.SYS_READ, 0, 3, 5)
	f = append(f, Answer(kill))
	for _, tt := range []struct {
		name       string
		arch, call uint32
		args       []uint32
		want       uint32
	}{
		{"an allowed call", Arch, unix.SYS_GETPID, nil, allow},
		{"a call that fails", Arch, unix.SYS_SOCKET, nil, Fails(unix.EPERM)},
		{"an allowed argument", Arch, unix.SYS_READ, []uint32{5}, allow},
		{"another argument", Arch, unix.SYS_READ, []uint32{4, 3}, kill},
		{"a call without a rule", Arch, unix.SYS_EXECVE, nil, kill},
		{"32 bits", unix.AUDIT_ARCH_I386, unix.SYS_GETPID, nil, kill},
		{"32 bits, a call that fails", unix.AUDIT_ARCH_I386, unix.SYS_SOCKET, nil, kill},
		{"32-bit ARM", unix.AUDIT_ARCH_ARM, unix.SYS_READ, []uint32{5}, kill},
		{"no architecture", 0, unix.SYS_GETPID, nil, kill},
	} {
		if got := answerOf(t, f, tt.arch, tt.call, tt.args...); got != tt.want {
			t.Errorf("%s: %#x, want %#x", tt.name, got, tt.want)
		}
	}
}
