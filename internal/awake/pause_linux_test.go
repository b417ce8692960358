package awake_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/awake"
	"github.com/quoinhq/quoin/internal/awake/awaketest"
)

// waiterVariable makes the test binary a process that waits for an answer.
const waiterVariable = "QUOIN_TEST_WAITER"

func TestMain(m *testing.M) {
	if os.Getenv(waiterVariable) != "" {
		beWaiter()
	}
	os.Exit(m.Run())
}

// beWaiter waits two seconds for a line of the standard input, and says whether it came.
func beWaiter() {
	line := make(chan struct{})
	go func() {
		if bufio.NewScanner(os.Stdin).Scan() {
			close(line)
		}
	}()
	ctx, cancel := awake.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	fmt.Println("waits")
	select {
	case <-line:
		fmt.Println("answered")
	case <-ctx.Done():
		fmt.Println("late")
	}
	os.Exit(0)
}

// TestAProcessThatStoodStillWaitsOn stops a process for longer than it waits, before it
// is answered. One that is not answered gives up all the same.
func TestAProcessThatStoodStillWaitsOn(t *testing.T) {
	for _, c := range []struct{ answer, want string }{{"answer\n", "answered"}, {"", "late"}} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), waiterVariable+"=1")
			in, inErr := cmd.StdinPipe()
			out, outErr := cmd.StdoutPipe()
			if inErr != nil || outErr != nil {
				t.Fatal(inErr, outErr)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			said := bufio.NewScanner(out)
			next := func() string { said.Scan(); return said.Text() }
			if got := next(); got != "waits" {
				t.Fatalf("it says %q", got)
			}
			awaketest.Pause(t, cmd.Process.Pid, 3*time.Second)
			if _, err := io.WriteString(in, c.answer); err != nil {
				t.Error(err)
			}
			if got := next(); got != c.want {
				t.Errorf("it says %q, want %q", got, c.want)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
