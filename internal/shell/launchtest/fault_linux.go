package launchtest

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

var faults = cases{
	"MuchOutput": func(t *testing.T, h Host) {
		size := int64(1 << 30)
		if testing.Short() {
			size = 32 << 20
		}
		p := h.script(t, fmt.Sprintf("head -c %d /dev/zero", size))
		n, err := io.Copy(io.Discard, p)
		if err != nil || n != size {
			t.Errorf("read %d bytes, %v: want %d", n, err, size)
		}
		p.exits(execution.Exit{})
	},
	"AClosedInput": func(t *testing.T, h Host) {
		p := h.script(t, "exec <&-; echo ready; "+waits)
		p.until("ready\n")
		wrote := make(chan error, 1)
		go func() {
			_, err := p.Write(make([]byte, 8<<20))
			wrote <- err
		}()
		p.Kill() // a Launcher may learn of it no earlier
		if err := <-wrote; err == nil {
			t.Error("write: no error")
		}
		p.exits(killed)
	},
	"ManyProcessesLeaveNothing": func(t *testing.T, h Host) {
		cycles := 1000
		if testing.Short() {
			cycles = 20
		}
		for range 3 {
			h.startAndKill(t)
		}
		before := used(t)
		for range cycles {
			h.startAndKill(t)
		}
		if after := used(t); after.descriptors > before.descriptors+3 || after.children > before.children || after.goroutines > before.goroutines+3 {
			t.Errorf("%d processes have left something: %+v before, %+v after", cycles, before, after)
		}
	},
}

// startAndKill starts a process with a child, and kills it.
func (h Host) startAndKill(t *testing.T) {
	t.Helper()
	p, err := h.Launcher.Start(t.Context(), h.command("setsid sleep 1000 & echo ready; wait"))
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Process: p, t: t}
	r.until("ready\n")
	r.Kill()
	r.exits(killed)
}

// usage is what this process has.
type usage struct{ descriptors, children, goroutines int }

func used(t *testing.T) usage {
	t.Helper()
	runtime.GC() // closes what was forgotten, which is a leak all the same if it is much
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	processes, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	u := usage{descriptors: len(descriptors), goroutines: runtime.NumGoroutine()}
	parent := fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())
	for _, p := range processes {
		// What is no process, or has ended, has no such file.
		if status, err := os.ReadFile("/proc/" + p.Name() + "/status"); err == nil && strings.Contains(string(status), parent) {
			u.children++
		}
	}
	return u
}
