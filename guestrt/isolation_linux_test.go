package guestrt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// denyVariable makes the test binary a host in an environment that forbids it
// and its workers what the named entries of denials say.
const denyVariable = "QUOIN_TEST_DENY"

// denial is a system call that fails: always, or if its argument is equal to, or
// has a bit of, value.
type denial struct {
	call  uint32
	errno unix.Errno
	test  uint16 // 0 means always
	arg   uint32
	value uint32
}

// denials are what containers and old kernels do to the layers.
var denials = map[string][]denial{
	sandbox.LayerFiles: {{call: unix.SYS_CLOSE_RANGE, errno: unix.ENOSYS}},
	sandbox.LayerNamespaces: {
		{call: unix.SYS_CLONE, errno: unix.EPERM, test: unix.BPF_JSET, value: unix.CLONE_NEWUSER},
		{call: unix.SYS_CLONE3, errno: unix.ENOSYS},
		{call: unix.SYS_UNSHARE, errno: unix.EPERM},
	},
	sandbox.LayerRoot:         {{call: unix.SYS_PIVOT_ROOT, errno: unix.EPERM}},
	sandbox.LayerDumpable:     {{call: unix.SYS_PRCTL, errno: unix.EPERM, test: unix.BPF_JEQ, value: unix.PR_SET_DUMPABLE}},
	sandbox.LayerLimits:       {{call: unix.SYS_PRLIMIT64, errno: unix.EPERM, test: unix.BPF_JEQ, arg: 1, value: unix.RLIMIT_MSGQUEUE}},
	sandbox.LayerCapabilities: {{call: unix.SYS_CAPSET, errno: unix.EPERM}},
	sandbox.LayerPrivileges:   {{call: unix.SYS_PRCTL, errno: unix.EPERM, test: unix.BPF_JEQ, value: unix.PR_SET_NO_NEW_PRIVS}},
	sandbox.LayerLandlock:     {{call: unix.SYS_LANDLOCK_CREATE_RULESET, errno: unix.ENOSYS}},
	sandbox.LayerSeccomp:      {{call: unix.SYS_SECCOMP, errno: unix.EPERM}},
}

// filter is the system call filter that denies.
func filter(list []denial) []unix.SockFilter {
	const load, number, args = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, 0, 16
	p := []unix.SockFilter{}
	for _, d := range list {
		no := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(d.errno)}
		p = append(p, unix.SockFilter{Code: load, K: number})
		if d.test == 0 {
			p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: d.call, Jf: 1}, no)
			continue
		}
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: d.call, Jf: 3},
			unix.SockFilter{Code: load, K: args + 8*d.arg},
			unix.SockFilter{Code: unix.BPF_JMP | d.test | unix.BPF_K, K: d.value, Jf: 1}, no)
	}
	return append(p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

// confine forbids this process and its children what the entries of denials say.
func confine(names ...string) error {
	var list []denial
	for _, n := range names {
		if denials[n] == nil {
			return fmt.Errorf("nothing denies %s", n)
		}
		list = append(list, denials[n]...)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Getuid() != 0 { // others may install a filter only like this
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	f := filter(list)
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return errno
	}
	return nil
}

// outcome is what came of a pool of one policy.
type outcome struct {
	Code, Error string // why there is no pool
	Layers      []wire.Layer
	Value       string // what a cell returned
}

// beConfined is a host that may not do everything. It does not return.
func beConfined(deny string) {
	if err := confine(strings.Fields(deny)...); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	out := map[Isolation]outcome{}
	for _, policy := range []Isolation{IsolationRequired, IsolationBestEffort} {
		out[policy] = try(policy)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func try(policy Isolation) outcome {
	guest := os.Getenv(hostGuestVariable)
	ctx := context.Background()
	p, err := NewPool(ctx, Config{GuestPath: guest, Prepared: 1, Isolation: policy})
	var e *WorkerError
	if errors.As(err, &e) {
		return outcome{Code: e.Code, Error: e.Message}
	}
	w, err := p.Acquire(ctx, "s", wire.Limits{})
	if err != nil {
		return outcome{Error: err.Error()}
	}
	o := outcome{Layers: w.Layers()}
	r, err := w.Start(ctx, js("return 6 * 7"), nil, in(plenty))
	if err != nil {
		o.Error = err.Error()
	} else {
		o.Value = string(r.Value)
	}
	if err := p.Close(); err != nil {
		o.Error = err.Error()
	}
	return o
}

// hostGuestVariable names the guest executable of a confined host.
const hostGuestVariable = "QUOIN_TEST_GUEST"

// confined runs a host that is denied the named layers.
func confined(t *testing.T, layers ...string) map[Isolation]outcome {
	t.Helper()
	guest := guestPath
	if guest == "" {
		guest = "/proc/self/exe"
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), denyVariable+"="+strings.Join(layers, " "), hostGuestVariable+"="+guest)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, b, stderr.Bytes())
	}
	var out map[Isolation]outcome
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	return out
}

// failingLayers are the layers that a system may deny to a host that has all of
// them, and to one that has no namespaces: the tier that is left, and whether
// required isolation still holds.
var failingLayers = []struct {
	deny        []string
	all, others leftover
}{
	{[]string{sandbox.LayerFiles}, leftover{"D", false}, leftover{"D", false}},
	{[]string{sandbox.LayerNamespaces}, leftover{"B", true}, leftover{"B", true}},
	{[]string{sandbox.LayerRoot}, leftover{"B", true}, leftover{"B", true}},
	{[]string{sandbox.LayerDumpable}, leftover{"D", false}, leftover{"D", false}},
	{[]string{sandbox.LayerLimits}, leftover{"D", false}, leftover{"D", false}},
	{[]string{sandbox.LayerCapabilities}, leftover{"D", false}, leftover{"D", false}},
	{[]string{sandbox.LayerPrivileges}, leftover{"D", false}, leftover{"D", false}},
	{[]string{sandbox.LayerLandlock}, leftover{"C", true}, leftover{"C", false}},
	{[]string{sandbox.LayerNamespaces, sandbox.LayerLandlock}, leftover{"C", false}, leftover{"C", false}},
	{[]string{sandbox.LayerSeccomp}, leftover{"D", false}, leftover{"D", false}},
}

type leftover struct {
	tier  string
	holds bool
}

// TestEveryLayerCanFail forbids one layer after another: required isolation
// refuses and says why, unless the layer is one it can do without, and best-effort
// continues with the tier that is left. It does so for a system with user
// namespaces and for one without.
func TestEveryLayerCanFail(t *testing.T) {
	base, err := Inspect(context.Background(), Config{GuestPath: guestPath})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range failingLayers {
		name := strings.Join(c.deny, "+")
		t.Run("all/"+name, func(t *testing.T) {
			t.Parallel()
			requireTier(t, "A", base.Layers)
			checkDenied(t, c.deny, c.deny, c.all)
		})
		t.Run("no namespaces/"+name, func(t *testing.T) {
			t.Parallel()
			requireTier(t, "B", base.Layers)
			checkDenied(t, append([]string{sandbox.LayerNamespaces}, c.deny...), c.deny, c.others)
		})
	}
}

// requireTier skips a test that needs more layers than this system has. The
// reason is what a run of all tests lists at its end.
func requireTier(t *testing.T, least string, layers []wire.Layer) {
	t.Helper()
	if tier := sandbox.Tier(layers); tier > least {
		t.Skipf("it needs a system of tier %s; this one gives tier %s: %s", least, tier, sandbox.Explain("required", sandbox.Lacking(layers)))
	}
}

// checkDenied runs hosts that are denied some layers and checks what they say of
// those that are looked at.
func checkDenied(t *testing.T, deny, look []string, want leftover) {
	out := confined(t, deny...)
	required, effort := out[IsolationRequired], out[IsolationBestEffort]
	if effort.Error != "" || effort.Value != "42" || sandbox.Tier(effort.Layers) != want.tier {
		t.Errorf("best effort: tier %s, %+v", sandbox.Tier(effort.Layers), effort)
	}
	for _, name := range look {
		i := slices.IndexFunc(effort.Layers, func(l wire.Layer) bool { return l.Name == name })
		if l := effort.Layers[i]; l.State == wire.LayerOn || l.Detail == "" {
			t.Errorf("best effort reports %+v", l)
		}
	}
	if want.holds {
		if required.Error != "" || required.Value != "42" {
			t.Errorf("required: %+v", required)
		}
		return
	}
	if required.Code != wire.CodeRuntimeUnavailable {
		t.Fatalf("required: %+v", required)
	}
	for _, name := range look {
		if !strings.Contains(required.Error, name+" is ") || !strings.Contains(required.Error, sandbox.Remedy(name)) {
			t.Errorf("%s is not explained in %q", name, required.Error)
		}
	}
}

// TestStrictIsolationNeedsControlGroups holds it against what this system has.
func TestStrictIsolationNeedsControlGroups(t *testing.T) {
	base, err := Inspect(context.Background(), Config{GuestPath: guestPath})
	if err != nil {
		t.Fatal(err)
	}
	missing := sandbox.LackingGroup(base.Layers)
	p, err := NewPool(context.Background(), Config{GuestPath: guestPath, Prepared: 1, Isolation: IsolationStrict})
	if missing == nil {
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	wantEnding(t, err, wire.CodeRuntimeUnavailable, "")
	for _, m := range missing {
		if err == nil || !strings.Contains(err.Error(), m.Name+" is ") || !strings.Contains(err.Error(), m.Remedy) || !strings.Contains(err.Error(), "strict") {
			t.Errorf("%s is not explained in %v", m.Name, err)
		}
	}
}

func TestTheReasonForMissingNamespacesIsTheSystems(t *testing.T) {
	for _, l := range confined(t, sandbox.LayerNamespaces)[IsolationBestEffort].Layers {
		if l.Name == sandbox.LayerNamespaces && l.Detail != "the host cannot make them: operation not permitted" {
			t.Errorf("%+v", l)
		}
	}
}

// TestTheHostJudgesForItself has workers say Ready that lack everything.
func TestTheHostJudgesForItself(t *testing.T) {
	c := hostileConfig(t, "silent")
	c.Isolation = IsolationRequired
	_, err := NewPool(context.Background(), c)
	wantEnding(t, err, wire.CodeRuntimeUnavailable, "")
	if err == nil || !strings.Contains(err.Error(), sandbox.LayerSeccomp) {
		t.Errorf("%v", err)
	}
}

func TestRequiredIsTheDefaultAndNothingElseIsAccepted(t *testing.T) {
	c := hostileConfig(t, "silent")
	c.Isolation = ""
	if _, err := NewPool(context.Background(), c); err == nil || !strings.Contains(err.Error(), "isolation is required") {
		t.Errorf("by default: %v", err)
	}
	_, err := NewPool(context.Background(), Config{Isolation: "besteffort"})
	wantEnding(t, err, wire.CodeRuntimeUnavailable, "")
	if err == nil || !strings.Contains(err.Error(), `"best-effort"`) {
		t.Errorf("a misspelt policy: %v", err)
	}
}

func TestInspect(t *testing.T) {
	found, err := Inspect(context.Background(), Config{GuestPath: guestPath})
	if err != nil || found.Err != nil {
		t.Fatal(err, found.Err)
	}
	if found.GuestPath == "" || found.BuildID == [32]byte{} || found.EngineID == "" || len(found.Layers) == 0 {
		t.Errorf("%+v", found)
	}
	found, err = Inspect(context.Background(), Config{GuestPath: "/nonexistent"})
	if err != nil || found.Err == nil || sandbox.Tier(found.Layers) != "D" || len(sandbox.Lacking(found.Layers)) == 0 {
		t.Errorf("without a guest: %+v, %v", found, err)
	}
}

// TestAWorkerWithCgoIsRefused has the C library's threads, which nothing seals, or,
// with the native engine, a C library that its build id does not cover.
func TestAWorkerWithCgoIsRefused(t *testing.T) {
	if !withCgo {
		// Only a worker with cgo is refused; the race target builds one.
		t.Skip("this binary was built without cgo")
	}
	_, err := NewPool(context.Background(), Config{GuestPath: refusedWorker(t)})
	wantEnding(t, err, wire.CodeRuntimeUnavailable, "")
	if err == nil || !strings.Contains(err.Error(), refusedBecause) {
		t.Errorf("%v, want one that says %q", err, refusedBecause)
	}
}
