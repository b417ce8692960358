package host_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/quoinhq/quoin/host"
)

// calmKey makes the test binary a program that calms its timers and prints what
// it is then.
const calmKey = "QUOIN_TEST_CALM"

func calm() error {
	if err := host.RelaxTimerSlack(); err != nil {
		return err
	}
	runtime.LockOSThread() // a thread may always read its own slack
	defer runtime.UnlockOSThread()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		b, err := os.ReadFile("/proc/" + thread.Name() + "/timerslack_ns")
		switch {
		case errors.Is(err, fs.ErrPermission):
			fmt.Println("slack hidden")
		case err != nil:
			return err
		default:
			fmt.Printf("slack %s\n", bytes.TrimSpace(b))
		}
	}
	fmt.Println("process", os.Getpid(), "arguments", os.Args[1:])
	return nil
}
