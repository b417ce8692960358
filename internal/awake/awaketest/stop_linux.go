package awaketest

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Pause has a process stand still for so long.
func Pause(t testing.TB, pid int, d time.Duration) {
	t.Helper()
	Stop(t, pid)
	time.Sleep(d)
	Continue(t, pid)
}

// Stop stops a process, and returns when it stands still.
func Stop(t testing.TB, pid int) {
	t.Helper()
	signal(t, pid, syscall.SIGSTOP)
	for !stands(t, pid) {
		runtime.Gosched()
	}
}

// Continue resumes a stopped process.
func Continue(t testing.TB, pid int) {
	t.Helper()
	signal(t, pid, syscall.SIGCONT)
}

func signal(t testing.TB, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatalf("%v to process %d: %v", s, pid, err)
	}
}

// stands reports whether all threads of a process are stopped.
func stands(t testing.TB, pid int) bool {
	t.Helper()
	threads := fmt.Sprintf("/proc/%d/task/", pid)
	list, err := os.ReadDir(threads)
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range list {
		stat, err := os.ReadFile(threads + thread.Name() + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		// The name, in parentheses, may have any character in it.
		if after := stat[bytes.LastIndexByte(stat, ')')+1:]; !bytes.HasPrefix(after, []byte(" T")) {
			return false
		}
	}
	return true
}
