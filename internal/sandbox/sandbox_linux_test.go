package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/lockdown"
	"github.com/quoinhq/quoin/internal/wire"
)

// probeName marks a test binary that seals itself, reports, makes one probe and
// reports again.
const probeName = "sandbox-probe"

// partlyName marks a test binary that gives up privileges on its first thread alone.
const partlyName = "sandbox-partly"

func init() {
	if os.Args[0] == partlyName {
		runtime.LockOSThread() // the first thread
	}
}

func TestMain(m *testing.M) {
	if os.Args[0] == partlyName {
		bePartly()
	}
	if os.Args[0] == probeName {
		beProbe(os.Args[1])
	}
	os.Exit(m.Run())
}

// report is what a probing process says on descriptor 3.
type report struct {
	Layers []wire.Layer
	Probe  string // "allowed", or how the system refused
}

// early marks a probe with a process that starts the Go runtime's poller before
// the seal, as a program that links more than a guest does.
const early = "early "

// threaded marks a probe with a process that has so many more threads before the
// seal, and waiting is one that ends with a signal alone.
const (
	threaded     = "threaded "
	waiting      = "wait"
	extraThreads = 8
)

func beProbe(name string) {
	name, many := strings.CutPrefix(name, threaded)
	if many {
		keepThreads(extraThreads)
	}
	name, started := strings.CutPrefix(name, early)
	if started {
		r, w, err := os.Pipe() // pipes need the poller
		if err = errors.Join(err, r.Close(), w.Close()); err != nil {
			panic(err)
		}
	}
	layers := Seal(Policy{})
	say(report{Layers: layers})
	if name == waiting {
		<-time.After(time.Hour) // it is killed
	}
	answer := "allowed"
	if err := probes[name](); err != nil {
		answer = err.Error()
	}
	say(report{Probe: answer})
	os.Exit(0)
}

// keepThreads makes n threads that do nothing.
func keepThreads(n int) {
	started := make(chan bool)
	for range n {
		go func() {
			runtime.LockOSThread()
			started <- true
			select {}
		}()
	}
	for range n {
		<-started
	}
}

func say(r report) {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	if _, err := unix.Write(toHost, append(b, '\n')); err != nil {
		panic(err)
	}
}

func raw(call uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(call, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func first[T any](_ T, err error) error { return err }

// harmless are what a worker needs and must keep.
var harmless = map[string]func() error{
	"nothing": func() error { return nil },
	"threads": func() error {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				runtime.LockOSThread()
				runtime.Gosched()
			})
		}
		wg.Wait()
		return nil
	},
	"timers":       func() error { <-time.After(time.Millisecond); return nil },
	"woken timers": wakePoller,
	"memory":       func() error { return grow(64 << 20) },
	"random":       func() error { return Random(make([]byte, 64)) },
	"log":          func() error { return first(fmt.Fprint(os.Stderr, "x")) },
	"descriptors": func() error {
		for fd := range uintptr(64) {
			if _, err := unix.FcntlInt(fd, unix.F_GETFL, 0); (err == nil) != (fd < firstExtra) {
				return fmt.Errorf("descriptor %d: %v", fd, err)
			}
		}
		return nil
	},
	"own limit":        func() error { return LimitMemory(1 << 20) },
	"own limit, again": func() error { return errors.Join(LimitMemory(2<<20), LimitMemory(2<<20), LimitMemory(1<<20)) },
}

func grow(n int) error {
	b := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	runtime.GC()
	runtime.KeepAlive(b)
	return nil
}

// wakePoller makes the runtime interrupt its own poller: while one thread waits
// there for a late timer, another comes out of a system call and sets an early
// one.
func wakePoller() error {
	late := time.AfterFunc(time.Hour, func() {})
	defer late.Stop()
	pause := unix.Timespec{Nsec: int64(50 * time.Millisecond)}
	for {
		err := unix.Nanosleep(&pause, &pause)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) { // the runtime interrupts threads by signals
			return err
		}
	}
	<-time.After(time.Millisecond)
	return nil
}

// start starts a probing process. What it says comes out of r.
func start(t *testing.T, name string, attr *os.ProcAttr) (r *os.File, p *os.Process) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	attr.Files = append([]*os.File{null, null, null, null, w}, attr.Files...)
	runtime.LockOSThread() // the child dies with the thread that starts it
	t.Cleanup(runtime.UnlockOSThread)
	p, err = os.StartProcess("/proc/self/exe", []string{probeName, name}, attr)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return r, p
}

// run starts a probing process and returns what it said and how it ended.
func run(t *testing.T, name string, attr *os.ProcAttr) (layers []wire.Layer, answer string, status syscall.WaitStatus) {
	t.Helper()
	r, p := start(t, name, attr)
	defer r.Close()
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	state, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var said report
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		layers, answer = append(layers, said.Layers...), answer+said.Probe
	}
	return layers, answer, state.Sys().(syscall.WaitStatus)
}

func standard(namespaces bool) *os.ProcAttr {
	return &os.ProcAttr{Dir: "/", Env: Env(), Sys: Attributes(namespaces)}
}

// variants are the ways a worker is started here.
func variants(t *testing.T) map[string]bool {
	t.Helper()
	if !lockdown.ThreadsKnown() {
		// A binary with cgo is no worker; the layers say so.
		t.Skip(lockdown.ErrCgo)
	}
	v := map[string]bool{"plain": false}
	p, err := os.StartProcess("/proc/self/exe", []string{probeName, "nothing"}, standard(true))
	if err != nil {
		t.Run("namespaces", func(t *testing.T) { t.Skipf("this system allows no user namespaces: %v", err) })
		return v
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	v["namespaces"] = true
	return v
}

func TestAWorkerKeepsWhatItNeeds(t *testing.T) {
	for variant, namespaces := range variants(t) {
		for name := range harmless {
			t.Run(variant+"/"+name, func(t *testing.T) {
				_, answer, status := run(t, name, standard(namespaces))
				if answer != "allowed" || status != 0 {
					t.Errorf("answer %q, status %v", answer, status)
				}
			})
		}
	}
}

func states(layers []wire.Layer) map[string]string {
	m := map[string]string{}
	for _, l := range layers {
		m[l.Name] = l.State
	}
	return m
}

func TestMistakesOfTheParentAreReported(t *testing.T) {
	variants(t)
	for name, change := range map[string]struct {
		layer string
		do    func(*os.ProcAttr)
	}{
		"a variable too many": {LayerEnvironment, func(a *os.ProcAttr) { a.Env = append(a.Env, "SECRET=1") }},
		"no environment":      {LayerEnvironment, func(a *os.ProcAttr) { a.Env = []string{} }},
		"root":                {LayerUser, func(a *os.ProcAttr) { a.Sys.Credential = nil }},
	} {
		if name == "root" && os.Getuid() != 0 {
			continue // only root can make this mistake
		}
		attr := standard(false)
		change.do(attr)
		layers, _, _ := run(t, "nothing", attr)
		if got := states(layers)[change.layer]; got != wire.LayerFailed {
			t.Errorf("%s: layer %s is %q", name, change.layer, got)
		}
		if tier := Tier(layers); tier != "D" {
			t.Errorf("%s: tier %s", name, tier)
		}
	}
}

func TestInheritedDescriptorsAreClosed(t *testing.T) {
	variants(t)
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	attr := standard(false)
	attr.Files = []*os.File{f, f} // descriptors 5 and 6
	probes := []string{"nothing", "timers"}
	for _, probe := range probes { // timers fail if 4 or 5 is taken
		if _, answer, status := run(t, probe, &os.ProcAttr{Dir: attr.Dir, Env: attr.Env, Sys: attr.Sys, Files: attr.Files}); answer != "allowed" || status != 0 {
			t.Errorf("%s: answer %q, status %v", probe, answer, status)
		}
	}
}

// TestAPollerStartedBeforeTheSealWorksOn lets it have other descriptors than one
// that is started after the seal.
func TestAPollerStartedBeforeTheSealWorksOn(t *testing.T) {
	variants(t)
	layers, answer, status := run(t, early+"woken timers", standard(false))
	if answer != "allowed" || status != 0 {
		t.Errorf("answer %q, status %#x", answer, uint32(status))
	}
	for _, l := range layers {
		if l.Name == LayerFiles && (l.State != wire.LayerOn || !strings.Contains(l.Detail, "poller, [")) {
			t.Errorf("%+v", l)
		}
	}
}

func TestTiers(t *testing.T) {
	all := []string{LayerUser, LayerEnvironment, LayerFiles, LayerNamespaces, LayerRoot, LayerDumpable, LayerLimits,
		LayerCapabilities, LayerPrivileges, LayerLandlock, LayerSeccomp}
	with := func(off ...string) []wire.Layer {
		var layers []wire.Layer
		for _, n := range all {
			l := wire.Layer{Name: n, State: wire.LayerOn}
			for _, o := range off {
				if o == n {
					l.State = wire.LayerOff
				}
			}
			layers = append(layers, l)
		}
		return layers
	}
	for _, c := range []struct {
		off  []string
		tier string
	}{
		{nil, "A"},
		{[]string{LayerNamespaces, LayerRoot}, "B"},
		{[]string{LayerRoot}, "B"},
		{[]string{LayerNamespaces, LayerRoot, LayerLandlock}, "C"},
		{[]string{LayerLandlock}, "C"},
		{[]string{LayerSeccomp}, "D"},
		{[]string{LayerCapabilities}, "D"},
		{all, "D"},
	} {
		if got := Tier(with(c.off...)); got != c.tier {
			t.Errorf("without %v: tier %s, want %s", c.off, got, c.tier)
		}
	}
	if got := Tier(nil); got != "D" {
		t.Errorf("no layers: tier %s", got)
	}
}

func TestDataLimit(t *testing.T) {
	const held = 100
	for memory, want := range map[uint64]uint64{
		1 << 20:  held + 160<<20 + 3<<19,
		64 << 20: held + 160<<20 + 96<<20,
		0:        held + 160<<20 + 3<<29,
		1 << 50:  held + 160<<20 + 3<<29,
	} {
		if got := dataLimit(held, memory); got != want {
			t.Errorf("dataLimit(%d) = %d, want %d", memory, got, want)
		}
	}
}

// bePartly has a thread from before its first one gave up privileges, and waits for
// the end of its input.
func bePartly() {
	started := make(chan bool)
	go func() {
		runtime.LockOSThread()
		close(started)
		select {}
	}()
	<-started
	if err := lockdown.ForbidPrivileges(lockdown.ThisThread); err != nil {
		fmt.Println(err)
	}
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		panic(err)
	}
	os.Exit(0)
}

func TestVerifyLooksAtEveryThread(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{partlyName}
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	status, err := lockdown.Status(cmd.Process.Pid)
	if err != nil || status["NoNewPrivs"] != "1" {
		t.Errorf("the first thread: %q, %v", status["NoNewPrivs"], err)
	}
	err = Verify(cmd.Process.Pid, []wire.Layer{{Name: LayerPrivileges, State: wire.LayerOn}})
	if err == nil || !strings.Contains(err.Error(), LayerPrivileges) {
		t.Errorf("%v", err)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
}

// TestEveryThreadIsSealed has the kernel say so, of threads from before the seal too.
func TestEveryThreadIsSealed(t *testing.T) {
	for variant, namespaces := range variants(t) {
		t.Run(variant, func(t *testing.T) {
			r, p := start(t, threaded+waiting, standard(namespaces))
			defer r.Close()
			var said report
			if err := json.NewDecoder(r).Decode(&said); err != nil {
				t.Fatal(err)
			}
			threads, err := lockdown.ThreadStatuses(p.Pid)
			if err != nil || len(threads) < extraThreads {
				t.Errorf("%d threads, %v", len(threads), err)
			}
			if err := Verify(p.Pid, said.Layers); err != nil {
				t.Error(err)
			}
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
			if _, err := p.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestVerifyCatchesALie(t *testing.T) {
	// This process is not sealed.
	for _, name := range []string{LayerSeccomp, LayerPrivileges} {
		if err := Verify(os.Getpid(), []wire.Layer{{Name: name, State: wire.LayerOn}}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if err := Verify(os.Getpid(), []wire.Layer{{Name: name, State: wire.LayerOff}}); err != nil {
			t.Errorf("%s: honest, but %v", name, err)
		}
	}
	if err := Verify(1<<30, nil); err == nil {
		t.Error("a process that is not there is verified")
	}
}
