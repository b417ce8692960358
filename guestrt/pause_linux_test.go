package guestrt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/awake/awaketest"
	"github.com/quoinhq/quoin/internal/wire"
)

// pausedHostVariable makes the test binary a host that is stopped while its worker, the
// one at that path, has to answer.
const pausedHostVariable = "QUOIN_TEST_PAUSED_HOST"

// bePausedHost runs the program that it is given.
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
	awaketest.Ask(w.Pid(), func(program string) string {
		r, err := w.Start(context.Background(), js(program), nil, in(2*time.Second))
		var end *WorkerError
		switch {
		case errors.As(err, &end):
			return end.Code + end.Reason
		case err != nil:
			return err.Error()
		}
		return string(r.Value)
	}, p.Close)
}

// TestAHostThatStoodStillDoesNotBlameItsWorker: a worker gets its time. A guest that
// computes on gains nothing by the pause.
func TestAHostThatStoodStillDoesNotBlameItsWorker(t *testing.T) {
	guest := guestPath
	if guest == "" {
		guest = "/proc/self/exe"
	}
	for program, want := range map[string]string{"return 6 * 7": "42", nativeLoop: wire.CodeTimeout} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), pausedHostVariable+"="+guest)
			if got := awaketest.Answer(t, cmd, program); got != want {
				t.Errorf("the host says %q, want %q", got, want)
			}
		})
	}
}
