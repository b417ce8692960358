package soak_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// TestManyCells runs cells of many sessions; afterwards there are no more
// processes than the host keeps ready, and after Close there are no processes.
func TestManyCells(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of cells; make test-all runs it")
	}
	dir, guest := install(t)
	before := settle(t, hosttest.Usage{})
	h := start(t, dir, guest)
	cells := make(chan int)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for i := range cells {
				s := host.Session{SessionID: fmt.Sprint(i / 4)}
				code, want := fmt.Sprintf(`return (await tools.echo({ i: %d })).i`, i), fmt.Sprint(i)
				if i%10 == 9 {
					code, want = `throw new Error("over")`, ""
				}
				if r := h.Exec(context.Background(), s, host.ExecInput{Code: code}); string(r.Value) != want {
					t.Errorf("cell %d: %s", i, show(r))
				}
			}
		})
	}
	for i := range manyCells {
		cells <- i
	}
	close(cells)
	wg.Wait()
	// Two that were never used and, for a minute after some cell found none, six
	// more; and two that wait for their session.
	const kept = 10
	if u := settleChildren(t, kept); u.Children > kept {
		t.Errorf("%d processes after %d cells", u.Children, manyCells)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if after := settle(t, before); exceeds(after, before) {
		t.Errorf("before: %+v, after: %+v", before, after)
	}
}

// settleChildren waits until there are at most n child processes.
func settleChildren(t *testing.T, n int) hosttest.Usage {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var u hosttest.Usage
	for range 250 {
		var err error
		if u, err = hosttest.MeasureUsage(); err != nil {
			t.Fatal(err)
		}
		if u.Children <= n {
			break
		}
		<-tick.C
	}
	return u
}

// TestCrashStorm kills every worker again and again while cells run. A cell is
// right or says that its worker died; when the storm is over all are right.
func TestCrashStorm(t *testing.T) {
	dir, guest := install(t)
	before := settle(t, hosttest.Usage{})
	h := start(t, dir, guest)
	ctx, cancel := context.WithTimeout(context.Background(), stormTime)
	defer cancel()
	k := &killer{h: h, rng: rand.New(rand.NewPCG(1, 2))}
	var right, lost int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				s := host.Session{SessionID: fmt.Sprint(i, n/3)}
				r := h.Exec(context.Background(), s, host.ExecInput{Code: `let n = 0; for (let i = 0; i < 20; i++) n += (await tools.echo({ i })).i; return n`})
				mu.Lock()
				switch {
				case r.Status == host.StatusCompleted && string(r.Value) == `190`:
					right++
				case struck(r):
					lost++
				default:
					t.Errorf("in the storm: %s", show(r))
				}
				mu.Unlock()
			}
		})
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		k.workers += k.strike(t, 8)
		<-tick.C
	}
	wg.Wait()
	t.Logf("%d workers killed, %d cells right, %d lost", k.workers, right, lost)
	if k.workers == 0 || lost == 0 {
		t.Error("the storm has hit nobody")
	}
	calm := &actor{h: h, rng: k.rng, session: host.Session{SessionID: "calm"}}
	for _, f := range []act{(*actor).compute, (*actor).call, (*actor).yield, (*actor).nap} {
		if wrong := f(calm); wrong != "" {
			t.Errorf("after the storm: %s", wrong)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if after := settle(t, before); exceeds(after, before) {
		t.Errorf("before: %+v, after: %+v", before, after)
	}
}

// hostVariable makes the test binary a host that waits to be killed; it holds
// the directory of its plugins, and guestVariable the path of its guest.
const (
	hostVariable  = "QUOIN_SOAK_HOST"
	guestVariable = "QUOIN_SOAK_GUEST"
)

// beHost runs cells that never end until it is killed. It says ready once all of
// them run.
func beHost(dir string) {
	running := make(chan struct{}, 3)
	signal := echo
	signal.Name = "signal"
	signal.Invoke = func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		running <- struct{}{}
		return json.RawMessage("1"), nil
	}
	cfg, err := config(dir, os.Getenv(guestVariable), signal)
	if err == nil {
		var h *host.Host
		if h, err = host.New(context.Background(), cfg); err == nil {
			for i, code := range []string{
				`await Issues.list({}); await tools.signal(); for (;;);`,
				`await tools.signal(); [].indexOf.call({ length: 2 ** 53 - 1 }, 1)`,
				`await tools.signal(); await Rude.hang({})`,
			} {
				go h.Exec(context.Background(), host.Session{SessionID: fmt.Sprint(i)}, host.ExecInput{Code: code})
			}
			for range 3 {
				<-running
			}
			fmt.Println("ready")
			select {}
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

// TestKilledHost kills a host by force while its cells run: none of its workers
// and plugins outlives it.
func TestKilledHost(t *testing.T) {
	if testing.Short() {
		t.Skip("a host killed again and again; make test-all runs it")
	}
	dir, guest := install(t, "issues", "rude")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), hostVariable+"="+dir, guestVariable+"="+guest)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if strings.TrimSpace(line) != "ready" {
		t.Errorf("the host says %q, %v", line, err)
	}
	handles := descendants(t, cmd.Process.Pid)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for pid, fd := range handles {
		const tenSeconds = 10_000
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, tenSeconds)
		if err != nil || n != 1 {
			t.Errorf("process %d survives its host: %d, %v", pid, n, err)
		}
		unix.Close(fd)
	}
	// Three workers at least, and two plugins.
	if len(handles) < 5 {
		t.Errorf("the host had %d processes", len(handles))
	}
}

// descendants opens every process below parent.
func descendants(t *testing.T, parent int) map[int]int {
	t.Helper()
	all := map[int]int{}
	children, err := hosttest.Children(parent)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range children {
		fd, err := unix.PidfdOpen(c.PID, 0)
		if err != nil {
			continue // it is gone by now
		}
		all[c.PID] = fd
		for pid, fd := range descendants(t, c.PID) {
			all[pid] = fd
		}
	}
	return all
}
