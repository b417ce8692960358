package node

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/quoinhq/quoin/internal/hosttest"
)

// TestTheEndOfAGatewayEndsItsProcesses kills the gateway, and ssh knows nothing of that but the
// end of its input.
func TestTheEndOfAGatewayEndsItsProcesses(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	gateway := exec.Command(self)
	gateway.Env, gateway.Stderr = []string{gatewayEnv + "=" + family}, t.Output()
	out, err := gateway.StdoutPipe()
	if err == nil {
		err = gateway.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	pids := numbers(t, bufio.NewScanner(out))
	if err := gateway.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = gateway.Wait() // it was killed
	for _, pid := range pids {
		awaitEnd(t, pid)
	}
}

// family is a command line of a process with a child in a session of its own that ignores
// SIGTERM. It says both their numbers.
const family = `trap '' TERM; setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' & sleep 0.1; echo $$; wait`

// numbers are what family says.
func numbers(t *testing.T, lines *bufio.Scanner) (pids []int) {
	t.Helper()
	for len(pids) < 2 && lines.Scan() {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) < 2 {
		t.Fatalf("it has said %v: %v", pids, lines.Err())
	}
	return pids
}

// awaitEnd returns once a process has ended.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	if err := hosttest.AwaitExit(pid); err != nil {
		t.Fatal(err)
	}
}
