package host_test

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestRelaxTimerSlack: every thread of the process is calm, the one that the runtime
// starts before main included, and the process is the same otherwise.
//
// Reading the slack of another thread takes CAP_SYS_NICE in the thread's user
// namespace. An ordinary user gets one for the child; where the system gives none,
// the test sees one thread only.
func TestRelaxTimerSlack(t *testing.T) {
	t.Parallel()
	asRoot := &syscall.SysProcAttr{}
	if os.Geteuid() != 0 {
		asRoot.Cloneflags = syscall.CLONE_NEWUSER
		asRoot.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
	}
	all := true
	pid, out, err := runCalm(asRoot)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Log("this system gives no user namespace; the slack of the runtime's threads is not seen:", err)
		all = false
		pid, out, err = runCalm(&syscall.SysProcAttr{})
	}
	if err != nil {
		t.Fatalf("%v, printed %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	threads, last := lines[:len(lines)-1], lines[len(lines)-1]
	if want := fmt.Sprint("process ", pid, " arguments [one two words]"); last != want {
		t.Errorf("printed %q, want %q", last, want)
	}
	if len(threads) < 2 {
		t.Errorf("%d threads, want the runtime's, too", len(threads))
	}
	if !slices.Contains(threads, "slack 1000000") {
		t.Errorf("no thread is calm: %q", threads)
	}
	for _, l := range threads {
		if l != "slack 1000000" && (all || l != "slack hidden") {
			t.Errorf("a thread has %s", l)
		}
	}
}

// runCalm runs this test binary as the program that calms its timers.
func runCalm(attr *syscall.SysProcAttr) (pid int, out string, err error) {
	cmd := osexec.Command("/proc/self/exe", "one", "two words")
	cmd.Env = append(os.Environ(), calmKey+"=1")
	cmd.SysProcAttr = attr
	var b strings.Builder
	cmd.Stdout, cmd.Stderr = &b, os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, b.String(), err
	}
	return cmd.Process.Pid, b.String(), nil
}
