package guestrt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/awake/awaketest"
	"github.com/quoinhq/quoin/internal/wire"
)

// pausedHostVariable makes the test binary a host that is stopped while its worker, the
// one at that path, has to answer.
const pausedHostVariable = "QUOIN_TEST_PAUSED_HOST"

// bePausedHost acquires a worker and says its process id. Then it runs the program that it
// is given, for two seconds at the most, and says what came of it. From then on it says
// each few milliseconds that it runs.
func bePausedHost() {
	p, err := NewPool(context.Background(), Config{GuestPath: os.Getenv(pausedHostVariable)})
	var w *Worker
	if err == nil {
		w, err = p.Acquire(context.Background(), "", wire.Limits{})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(w.Pid())
	program := bufio.NewScanner(os.Stdin)
	program.Scan()
	awaketest.Beat()
	r, err := w.Start(context.Background(), js(program.Text()), nil, in(2*time.Second))
	var end *WorkerError
	switch {
	case errors.As(err, &end):
		fmt.Println(end.Code, end.Reason)
	case err != nil:
		fmt.Println(err)
	case r.Err != nil:
		fmt.Println(r.Err.Code)
	default:
		fmt.Println("value", string(r.Value))
	}
	fmt.Println("closed", p.Close())
	os.Exit(0)
}

// TestAHostThatStoodStillDoesNotBlameItsWorker stops a host for longer than its worker
// has, which answers when the host has been running again for a while. A guest that
// computes on meanwhile gains nothing by the pause.
func TestAHostThatStoodStillDoesNotBlameItsWorker(t *testing.T) {
	guest := guestPath
	if guest == "" {
		guest = "/proc/self/exe"
	}
	for _, c := range []struct{ program, want string }{
		{"return 6 * 7", "value 42"},
		{nativeLoop, wire.CodeTimeout + " "},
	} {
		t.Run(c.program, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), pausedHostVariable+"="+guest)
			stdin, inErr := cmd.StdinPipe()
			stdout, outErr := cmd.StdoutPipe()
			if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
				t.Fatal(err)
			}
			out := bufio.NewScanner(stdout)
			next := func() string { out.Scan(); return out.Text() }
			worker, err := strconv.Atoi(next())
			if err != nil {
				t.Fatal(err)
			}
			awaketest.Stop(t, worker) // so that its answer is not there before the pause
			if _, err := io.WriteString(stdin, c.program+"\n"); err != nil {
				t.Fatal(err)
			}
			awaketest.Runs(t, next)
			awaketest.Pause(t, cmd.Process.Pid, 3*time.Second)
			awaketest.Runs(t, next)
			awaketest.Continue(t, worker)
			if got := awaketest.Next(next); got != c.want {
				t.Errorf("the host says %q, want %q", got, c.want)
			}
			if got := awaketest.Next(next); got != "closed <nil>" {
				t.Errorf("the host says %q", got)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
