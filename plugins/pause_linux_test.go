package plugins

import (
	"context"
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

// runPausedHost calls a tool with the text that it is given.
func runPausedHost(dir string) {
	p, err := Start(context.Background(), Find(dir), Options{
		DataDir: filepath.Join(dir, "data"), RunDir: filepath.Join(dir, "run"), CallTimeout: 2 * time.Second,
	})
	var pid int
	if err == nil {
		pid, err = strconv.Atoi(p.PID())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	awaketest.Ask(pid, func(text string) string {
		out, err := p.CallTool(context.Background(), call("echo", textIn{Text: text}), nil)
		return fmt.Sprintf("%s %v", out, err)
	}, p.Close)
}

// TestAHostThatStoodStillDoesNotBlameItsPlugin: a call gets its time.
func TestAHostThatStoodStillDoesNotBlameItsPlugin(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{pausedHostVariable + "=" + install(t, shortDir(t), "alpha", "good").Dir}
	if got := awaketest.Answer(t, cmd, "here"); got != `{"text":"here"} <nil>` {
		t.Errorf("the call came to %q", got)
	}
}
