package host_test

import (
	"bytes"
	"fmt"
	"os"
	osexec "os/exec"
	"testing"

	"github.com/quoinhq/quoin/host"
)

// calmKey makes the test binary a program that calms its timers and prints what
// it is then.
const calmKey = "QUOIN_TEST_CALM"

func calm() error {
	if err := host.CalmTimers(); err != nil {
		return err
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		b, err := os.ReadFile("/proc/" + thread.Name() + "/timerslack_ns")
		if err != nil {
			return err
		}
		fmt.Printf("slack %s\n", bytes.TrimSpace(b))
	}
	fmt.Println("process", os.Getpid(), "arguments", os.Args[1:])
	return nil
}

// TestCalmTimers: every thread of the process is calm, the one that the runtime
// starts before main included, and the process is the same otherwise.
func TestCalmTimers(t *testing.T) {
	cmd := osexec.Command("/proc/self/exe", "one", "two words")
	cmd.Env = append(os.Environ(), calmKey+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v, printed %s", err, out.Bytes())
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	threads, last := lines[:len(lines)-1], lines[len(lines)-1]
	if want := fmt.Sprint("process ", cmd.Process.Pid, " arguments [one two words]"); string(last) != want {
		t.Errorf("printed %q, want %q", last, want)
	}
	if len(threads) < 2 {
		t.Errorf("%d threads, want the runtime's, too", len(threads))
	}
	for _, l := range threads {
		if string(l) != "slack 1000000" {
			t.Errorf("a thread has %s", l)
		}
	}
}
