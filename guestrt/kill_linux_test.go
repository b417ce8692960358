package guestrt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// nativeLoop never polls for an interrupt: only a kill stops it.
const nativeLoop = `[].indexOf.call({length: 2**53 - 1}, 1)`

// TestASpinningGuestFailsWithItsOwnWords: it is asked to stop before the deadline, and is
// good for more. Where the machine has no time for the worker then, the host ends it.
func TestASpinningGuestFailsWithItsOwnWords(t *testing.T) {
	p := newPool(t, Config{})
	for range 20 {
		w := acquire(t, p, "s")
		r, err := w.Start(context.Background(), js("for (;;);"), nil, in(400*time.Millisecond))
		p.Release(w)
		if err != nil {
			wantEnding(t, err, wire.CodeTimeout, "")
			continue
		}
		if r.Status != wire.StatusFailed || r.Err.Code != wire.CodeTimeout {
			t.Errorf("report %+v", r)
		}
		return
	}
	t.Error("the host had to end the worker each time")
}

func TestANativeLoopIsKilledAtTheDeadline(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "s")
	defer p.Release(w)
	_, err := w.Start(context.Background(), js(nativeLoop), nil, in(300*time.Millisecond))
	wantEnding(t, err, wire.CodeTimeout, "")
	wantGone(t, w.Pid())
}

func TestACancelledContextKillsAtOnce(t *testing.T) {
	p := newPool(t, Config{})
	for _, source := range []string{"for (;;);", nativeLoop, "return ALL_TOOLS"} {
		w := acquire(t, p, "s")
		ctx, cancel := context.WithCancel(context.Background())
		// The guest asks for a file when it runs, so the cancellation meets it
		// in the middle of a turn.
		files := func(context.Context, string) ([]byte, bool) {
			cancel()
			return []byte("[]"), true
		}
		_, err := w.Start(ctx, js("ALL_TOOLS; "+source), files, in(plenty))
		wantEnding(t, err, wire.CodeAborted, "")
		wantGone(t, w.Pid())
		p.Release(w)
	}
}

func TestADoneContextStartsNothing(t *testing.T) {
	p := newPool(t, Config{})
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the session ended"))
	w := acquire(t, p, "s")
	defer p.Release(w)
	_, err := w.Start(ctx, js("return 1"), nil, in(plenty))
	wantEnding(t, err, wire.CodeAborted, "")
	if !strings.Contains(err.Error(), "the session ended") {
		t.Errorf("the cause is lost: %v", err)
	}
}

func TestMemoryBombs(t *testing.T) {
	p := newPool(t, Config{})
	for _, source := range []string{
		"const a = []; for (;;) a.push(new Array(1000).fill(1))",
		"let s = 'x'; for (;;) { s += s + Math.random(); s.charCodeAt(s.length - 1) }",
		"const a = []; for (;;) try { a.push('x'.repeat(1e6) + a.length) } catch {}",
		"return new Uint8Array(2 ** 30)",
	} {
		w := acquire(t, p, "")
		c := js(source)
		c.Limits.MemoryBytes = 16 << 20
		r, err := w.Start(context.Background(), c, nil, in(5*time.Second))
		p.Release(w)
		var code string
		var e *WorkerError
		switch {
		case errors.As(err, &e):
			code = e.Code
		case err == nil && r.Err != nil:
			code = r.Err.Code
		}
		if code != wire.CodeMemoryLimit {
			t.Errorf("%q: %q, %+v, %v", source, code, r, err)
		}
	}
}

func TestSourcesThatExhaustTheParser(t *testing.T) {
	p := newPool(t, Config{})
	for _, source := range []string{
		strings.Repeat("(", 1_000_000),
		strings.Repeat("[", 300_000) + strings.Repeat("]", 300_000),
		strings.Repeat("a=>", 300_000) + "1",
		"return " + strings.Repeat("1+", 1_000_000) + "1",
	} {
		w := acquire(t, p, "")
		r, err := w.Start(context.Background(), ts(source), nil, in(plenty))
		if err == nil && string(r.Value) == "1000001" {
			p.Release(w)
			continue // the last one: there was room for it next to the native engine
		}
		wantEnding(t, err, wire.CodeMemoryLimit, "")
		if err != nil && strings.Contains(err.Error(), "goroutine") {
			t.Errorf("the message shows the worker's insides: %v", err)
		}
		p.Release(w)
	}
}

func TestTheLargestGuestFitsTheProcess(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "")
	defer p.Release(w)
	c := js("const a = []; for (let i = 0; i < 300; i++) a.push(new Uint8Array(1e6).fill(i)); return a.length")
	c.Limits.MemoryBytes = 1 << 30
	wantValue(t, start(t, w, c, nil), "300")
}

func TestRecursionFailsTheCellOnly(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "")
	defer p.Release(w)
	r := start(t, w, js("function f() { return f() + 1 } f()"), nil)
	if r.Status != wire.StatusFailed || r.Err.Code != wire.CodeInternal {
		t.Errorf("report %+v %+v", r, r.Err)
	}
}

func TestAnOutputFloodIsBounded(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "")
	defer p.Release(w)
	r := start(t, w, js("const s = 'x'.repeat(1000); for (let i = 0; i < 1e5; i++) text(s); return 1"), nil)
	if len(r.Output) > wire.DefaultMaxOutputItems {
		t.Errorf("%d output items", len(r.Output))
	}
}

func TestAWorkerKilledFromOutside(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "s")
	start(t, w, js("await tools.call('t', {})"), nil)
	if err := syscall.Kill(w.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, err := w.Turn(context.Background(), nil, in(plenty))
	wantEnding(t, err, wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed)
	p.Release(w)
	wantValue(t, start(t, acquire(t, p, "s"), js("return 1"), nil), "1")
}

func TestAWarmWorkerThatDiedIsNotLent(t *testing.T) {
	p := newPool(t, Config{Prepared: 1})
	warm := p.warm.ready[0].Load()
	if err := warm.os.Kill(); err != nil {
		t.Fatal(err)
	}
	<-warm.gone
	w := acquire(t, p, "s")
	if w.p == warm {
		t.Fatal("a dead worker is lent")
	}
	wantValue(t, start(t, w, js("return 1"), nil), "1")
}

// TestWhatAWorkerHas looks at a sealed worker from outside.
func TestWhatAWorkerHas(t *testing.T) {
	// A descriptor that a careless host left inheritable.
	leaked, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leaked)
	t.Setenv("QUOIN_SECRET", "s3cr3t")
	p := newPool(t, Config{})
	w := acquire(t, p, "s")
	defer p.Release(w)
	start(t, w, js("await tools.call('t', {})"), nil)
	proc := fmt.Sprintf("/proc/%d/", w.Pid())

	entries, err := os.ReadDir(proc + "fd")
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
	env, err := os.ReadFile(proc + "environ")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(env), strings.Join(sandbox.Env(), "\x00")+"\x00"; got != want {
		t.Errorf("environment %q, want %q", got, want)
	}
	checkStatus(t, proc, w.Layers())
}

// TestLimitsOfALiveWorker holds what the kernel says about the limits of a worker
// that serves a guest of 64 MiB against what docs/reference/security.md promises.
func TestLimitsOfALiveWorker(t *testing.T) {
	p := newPool(t, Config{Prepared: 1})
	w := acquire(t, p, "s")
	defer p.Release(w)
	start(t, w, js("await tools.call('t', {})"), nil)
	limits := limitsOf(t, w.Pid())
	want := map[string]uint64{
		"Max core file size": 0, "Max file size": 0, "Max locked memory": 0, "Max msgqueue size": 0,
		"Max open files": 8, "Max stack size": 8 << 20, "Max address space": 4 << 30,
	}
	if w.p.inNamespaces() {
		want["Max processes"] = sandbox.MaxThreads
	}
	for name, value := range want {
		if limits[name] != [2]uint64{value, value} {
			t.Errorf("%s is %d, want %d", name, limits[name], value)
		}
	}
	// What the warm worker holds is for the most part the address range of the heap.
	const most = 1700 << 20
	if data := limits["Max data size"]; data[0] != data[1] || data[0] > most {
		t.Errorf("data is %d, want one value of at most %d", data, most)
	}
	score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", w.Pid()))
	if err != nil || strings.TrimSpace(string(score)) != "1000" {
		t.Errorf("oom_score_adj is %q, %v", score, err)
	}
}

// limitsOf returns the soft and the hard limits of a process by their names.
func limitsOf(t *testing.T, pid int) map[string][2]uint64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string][2]uint64{}
	for line := range strings.Lines(string(b)) {
		const nameColumns = 26
		name, values := strings.TrimSpace(line[:nameColumns]), strings.Fields(line[nameColumns:])
		var both [2]uint64
		for i := range both {
			n, err := strconv.ParseUint(values[i], 10, 64)
			if err != nil {
				n = math.MaxUint64 // "unlimited"
			}
			both[i] = n
		}
		limits[name] = both
	}
	return limits
}

// inNamespaces reports whether the process said that it has its own.
func (p *process) inNamespaces() bool {
	return slices.ContainsFunc(p.ready.Layers, func(l wire.Layer) bool {
		return l.Name == sandbox.LayerNamespaces && l.State == wire.LayerOn
	})
}

// TestAUsedWorkerIsNotLentForAGreaterGuest: what a process limited its memory to
// holds for good.
func TestAUsedWorkerIsNotLentForAGreaterGuest(t *testing.T) {
	p := newPool(t, Config{})
	lend := func(memory uint64) int {
		limits := wire.Limits{MemoryBytes: memory}
		w, err := p.Acquire(context.Background(), "s", limits)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Release(w)
		c := js("return 1")
		c.Limits = limits
		wantValue(t, start(t, w, c, nil), "1")
		return w.Pid()
	}
	small := lend(16 << 20)
	if again := lend(16 << 20); again != small {
		t.Error("a guest of the same size gets another worker")
	}
	large := lend(512 << 20)
	if large == small {
		t.Error("a greater guest gets the worker that was limited")
	}
	if again := lend(8 << 20); again != large {
		t.Error("a smaller guest gets another worker")
	}
}

// checkStatus compares what the worker reported with what the kernel says.
func checkStatus(t *testing.T, proc string, layers []wire.Layer) {
	t.Helper()
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		t.Fatal(err)
	}
	facts := map[string]string{}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		facts[key] = strings.TrimSpace(value)
	}
	on := map[string]bool{}
	for _, l := range layers {
		on[l.Name] = l.State == wire.LayerOn
		t.Logf("%s: %s %s", l.Name, l.State, l.Detail)
	}
	for name, want := range map[string]bool{
		sandbox.LayerUser:         !strings.HasPrefix(facts["Uid"], "0\t"),
		sandbox.LayerNamespaces:   len(strings.Fields(facts["NSpid"])) == 2,
		sandbox.LayerCapabilities: strings.Trim(facts["CapEff"]+facts["CapPrm"]+facts["CapInh"]+facts["CapAmb"], "0") == "",
		sandbox.LayerPrivileges:   facts["NoNewPrivs"] == "1",
		sandbox.LayerSeccomp:      facts["Seccomp"] == "2",
	} {
		if on[name] != want {
			t.Errorf("layer %s is reported on=%v, the kernel says %v", name, on[name], want)
		}
	}
	if os.Getuid() == 0 && facts["Uid"] != "65534\t65534\t65534\t65534" {
		t.Errorf("the worker of a root host has uids %s", facts["Uid"])
	}
	if os.Getuid() == 0 && strings.TrimSpace(facts["Groups"]) != "" {
		t.Errorf("the worker of a root host has groups %s", facts["Groups"])
	}
	for _, name := range []string{sandbox.LayerUser, sandbox.LayerEnvironment, sandbox.LayerFiles, sandbox.LayerDumpable,
		sandbox.LayerLimits, sandbox.LayerCapabilities, sandbox.LayerPrivileges, sandbox.LayerSeccomp} {
		if !on[name] {
			t.Errorf("layer %s is not on, and nothing about this system can prevent it", name)
		}
	}
}

// TestASealedWorkerLivesUnderLoad does everything that made a sealed Go process
// make unexpected system calls: seconds of work, garbage for the collector and
// its scavenger, large values, the transform, dates, snapshots.
func TestASealedWorkerLivesUnderLoad(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "s")
	long := "const big = [\n" + strings.Repeat("  { a: 1 as number, b: 'text' as string },\n", 20_000) + "]\n"
	r := start(t, w, ts(long+`
		let n = big.length
		const end = Date.now() + 3500
		while (Date.now() < end) {
			const v = await tools.call("t", { s: "x".repeat(2_000_000), at: new Date().toString() }) as string
			n += v.length
			for (let i = 0; i < 200_000; i++) Math.sqrt(i)
		}
		return n > 0`), nil)
	answer := strings.Repeat("y", 2_000_000)
	for r.Status == wire.StatusIdle {
		r = turn(t, w, resolve(r.Requests[0].ID, answer))
		if r.Status == wire.StatusIdle {
			if _, err := w.Snapshot(context.Background(), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantValue(t, r, "true")
	p.Release(w)
}

// wantGone fails unless the process is reaped.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}

// hostVariable makes the test binary a host that waits to be killed.
const hostVariable = "QUOIN_TEST_HOST"

// beHost starts workers, says their process ids and waits.
func beHost() {
	p, err := NewPool(context.Background(), Config{GuestPath: os.Getenv(hostVariable), Prepared: 1})
	if err == nil {
		for range 3 {
			var w *Worker
			if w, err = p.Acquire(context.Background(), "", wire.Limits{}); err != nil {
				break
			}
			fmt.Println(w.Pid())
			go func() { _, _ = w.Start(context.Background(), js(nativeLoop), nil, time.Time{}) }()
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func TestKillingTheHostKillsItsWorkers(t *testing.T) {
	guest := guestPath
	if guest == "" {
		guest = "/proc/self/exe"
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), hostVariable+"="+guest)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var handles []int
	out := bufio.NewScanner(stdout)
	for len(handles) < 3 && out.Scan() {
		pid, err := strconv.Atoi(out.Text())
		if err != nil {
			t.Fatalf("the host says %q", out.Text())
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		handles = append(handles, fd)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for _, fd := range handles {
		const tenSeconds = 10_000
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, tenSeconds)
		if err != nil || n != 1 {
			t.Errorf("a worker survives its host: %d, %v", n, err)
		}
	}
	if len(handles) != 3 {
		t.Fatalf("the host started %d workers", len(handles))
	}
}
