package plugins

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/awake/awaketest"
)

// pausedHostVariable makes the test binary a host that is stopped while its plugin, the
// one in that folder, has to answer.
const pausedHostVariable = "QUOIN_TEST_PAUSED_HOST"

// runPausedHost starts the plugin and says its process id. Then it makes a call, which has
// two seconds, and says what came of it.
func runPausedHost(dir string) {
	p, err := Start(context.Background(), Find(dir), Options{
		DataDir: filepath.Join(dir, "data"), RunDir: filepath.Join(dir, "run"), CallTimeout: 2 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.PID())
	bufio.NewScanner(os.Stdin).Scan()
	awaketest.Beat()
	out, err := p.CallTool(context.Background(), call("echo", textIn{Text: "here"}), nil)
	fmt.Println(string(out), err)
	fmt.Println("closed", p.Close())
	os.Exit(0)
}

// TestAHostThatStoodStillDoesNotBlameItsPlugin stops a host for longer than a call may
// take. The plugin answers when the host has been running again for a while.
func TestAHostThatStoodStillDoesNotBlameItsPlugin(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{pausedHostVariable + "=" + install(t, shortDir(t), "alpha", "good").Dir}
	stdin, inErr := cmd.StdinPipe()
	stdout, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewScanner(stdout)
	next := func() string { out.Scan(); return out.Text() }
	plugin, err := strconv.Atoi(next())
	if err != nil {
		t.Fatalf("the host says %q", out.Text())
	}
	awaketest.Stop(t, plugin) // so that its answer is not there before the pause
	if _, err := fmt.Fprintln(stdin, "call"); err != nil {
		t.Fatal(err)
	}
	awaketest.Runs(t, next)
	awaketest.Pause(t, cmd.Process.Pid, 3*time.Second)
	awaketest.Runs(t, next)
	awaketest.Continue(t, plugin)
	if got := awaketest.Next(next); got != `{"text":"here"} <nil>` {
		t.Errorf("the call came to %q", got)
	}
	if got := awaketest.Next(next); got != "closed <nil>" {
		t.Errorf("the host says %q", got)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
