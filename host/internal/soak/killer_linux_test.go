package soak_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/selfexec"
)

// workerPause is how often the killer strikes a worker.
const workerPause = 150 * time.Millisecond

// pluginPause is how often a plugin may die: one that dies six times in ten
// minutes would be disabled.
func pluginPause() time.Duration { return min(max(*soakTime/4, 5*time.Second), 150*time.Second) }

// gate opens once in a while.
type gate struct {
	every time.Duration
	mu    sync.Mutex
	last  time.Time
}

func (g *gate) open(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Sub(g.last) < g.every {
		return false
	}
	g.last = now
	return true
}

// killer kills workers and the plugin issues of a host at random.
type killer struct {
	h                *host.Host
	rng              *rand.Rand
	workers, plugins int // killed
}

func (k *killer) work(ctx context.Context, t *testing.T) {
	tick := time.NewTicker(workerPause)
	defer tick.Stop()
	plugin := gate{every: pluginPause(), last: time.Now().Add(time.Second - pluginPause())}
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			k.workers += k.strike(t, 1)
			if plugin.open(now) {
				k.plugins += k.strikePlugin(t)
			}
		}
	}
}

// strike kills up to n workers of this process and returns how many.
func (k *killer) strike(t *testing.T, n int) int {
	pids := workers(t)
	k.rng.Shuffle(len(pids), func(i, j int) { pids[i], pids[j] = pids[j], pids[i] })
	killed := 0
	for _, pid := range pids[:min(n, len(pids))] {
		killed += kill(t, pid)
	}
	return killed
}

func (k *killer) strikePlugin(t *testing.T) int {
	for _, p := range k.h.Plugins() {
		pid, err := strconv.Atoi(p.PID)
		if p.ID == "issues" && err == nil {
			return kill(t, pid)
		}
	}
	return 0
}

func kill(t *testing.T, pid int) int {
	err := syscall.Kill(pid, syscall.SIGKILL)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
	if err != nil {
		return 0
	}
	return 1
}

// workers lists the guest workers of this process.
func workers(t *testing.T) []int {
	children, err := hosttest.Children(os.Getpid())
	if err != nil {
		t.Error(err)
	}
	var pids []int
	for _, c := range children {
		if isWorker(c.PID) {
			pids = append(pids, c.PID)
		}
	}
	return pids
}

func isWorker(pid int) bool {
	// One that is gone by now has no command line.
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && strings.HasPrefix(string(line), selfexec.Args()[0]+"\x00")
}
