package guestrt

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestDescriptorsOfAReadyWorker(t *testing.T) {
	p := newPool(t, Config{Prepared: 1})
	pid := p.warm.ready[0].Load().os.Pid
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if errors.Is(err, os.ErrPermission) {
		// The worker cannot be traced, and this user may not override that.
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var fds []string
	for _, e := range entries {
		fds = append(fds, e.Name())
	}
	if got := strings.Join(fds, " "); got != "0 1 2 3 4" {
		t.Errorf("descriptors %s", got)
	}
}

// TestABusyWorkerLives keeps a guest at work for 4 s of processor time. The Go
// runtime looks at processors and control groups while a program is busy, which
// the filter would kill the worker for.
func TestABusyWorkerLives(t *testing.T) {
	const enough = 4 * time.Second
	p := newPool(t, Config{Prepared: 1})
	w := acquire(t, p, "s")
	defer p.Release(w)
	r := start(t, w, js(`
		for (let more = true; more; more = await tools.call("more", {})) {
			for (const end = Date.now() + 2000; Date.now() < end;) Math.sqrt(2)
		}
		return "done"`), nil)
	busy := r.CPUMicros
	for len(r.Requests) == 1 {
		more := time.Duration(busy)*time.Microsecond < enough
		r = turn(t, w, resolve(r.Requests[0].ID, more))
		busy += r.CPUMicros
	}
	wantValue(t, r, `"done"`)
}

func TestDatesInASealedWorker(t *testing.T) {
	p := newPool(t, Config{Prepared: 1})
	w := acquire(t, p, "s")
	defer p.Release(w)
	wantValue(t, start(t, w, js(`
		const d = new Date(Date.UTC(2026, 10, 21, 7, 8, 9))
		return [d.toString(), d.toLocaleString(), d.getTimezoneOffset(), new Date(2026, 10, 21).getTime() - Date.UTC(2026, 10, 21)]`), nil),
		`["Sat Nov 21 2026 07:08:09 GMT+0000","11/21/2026, 07:08:09 AM",0,0]`)
}
