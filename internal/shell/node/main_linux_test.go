package node

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/launch"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// The variables that make this executable a worker: its settings, and whether a command line
// is a command of the conformance suite.
const (
	workerEnv = "QUOIN_TEST_WORKER"
	suiteEnv  = "QUOIN_TEST_SUITE"
	// gatewayEnv makes it a gateway that runs a command line on a worker.
	gatewayEnv = "QUOIN_TEST_GATEWAY"
)

func TestMain(m *testing.M) {
	launch.Main()
	if raw := os.Getenv(workerEnv); raw != "" {
		if err := workerMain(raw); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if line := os.Getenv(gatewayEnv); line != "" {
		fmt.Fprintln(os.Stderr, gatewayMain(line))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func gatewayMain(line string) error {
	n := &Node{name: "builder", command: []string{"/proc/self/exe"}, env: []string{workerEnv + "=" + full}}
	p, err := n.Launcher(Job{Line: line}).Start(context.Background(), execution.Command{})
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, p)
	return err
}

func workerMain(raw string) error {
	s, err := settings.Parse([]byte(raw))
	if err != nil {
		return err
	}
	w := Worker{Settings: s, Launcher: launch.New(), Workdir: os.TempDir(), Version: "1"}
	if os.Getenv(suiteEnv) != "" {
		w.Launcher = ofSuite{w.Launcher}
	}
	return w.Serve(context.Background(), os.Stdin, os.Stdout)
}

// local returns a node with this executable as its worker, without an ssh between.
func local(t *testing.T, raw string, env ...string) *Node {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Node{name: "builder", address: "ssh://builder", command: []string{self}, env: append(env, workerEnv+"="+raw, "TMPDIR="+t.TempDir())}
}

// full runs every command.
const full = `{"host":"gateway","security":"full","ask":"off"}`
