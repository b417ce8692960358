//go:build linux && (amd64 || arm64)

package quickjs

import (
	"embed"
	"strconv"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

//go:embed testdata
var testdata embed.FS

func readTestdata(t testing.TB, name string) string {
	t.Helper()
	b, err := testdata.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// straight runs a program without a suspension, answering each call with its
// own arguments.
func straight(t testing.TB, e *Engine, src string) wire.Report {
	t.Helper()
	vm := newVM(t, e, engine.Options{})
	defer discard(t, vm)
	r := load(t, vm, src)
	for r.Status == wire.StatusIdle {
		r = turn(t, vm, answer(r.Requests)...)
		sound(t)
	}
	return r
}

func mustValue(t testing.TB, r wire.Report) string {
	t.Helper()
	if r.Status != wire.StatusDone {
		t.Fatalf("status %d, error %+v", r.Status, r.Err)
	}
	return string(r.Value)
}

// TestEverythingSurvivesItsProcess moves a guest that holds every kind of
// value to a new process at each of its turns.
func TestEverythingSurvivesItsProcess(t *testing.T) {
	src := readTestdata(t, "suspend/everything.js")
	want := mustValue(t, straight(t, openTest(t), src))
	for _, real := range []bool{false, true} {
		r, hops := acrossProcesses(t, step{Real: real, Source: src})
		if got := mustValue(t, r); got != want {
			t.Errorf("real prelude %v: across processes\n%s\nin one\n%s", real, got, want)
		}
		if hops < 4 {
			t.Errorf("only %d hops", hops)
		}
	}
}

// TestHundredProcesses chains a hundred images, each continued in a process of
// its own, while the heap grows and shrinks.
func TestHundredProcesses(t *testing.T) {
	const processes = 100 / raceFactor
	src := strings.Replace(readTestdata(t, "suspend/churn.js"), "h < 100", "h < "+strconv.Itoa(processes), 1)
	want := mustValue(t, straight(t, openTest(t), src))
	r, hops := acrossProcesses(t, step{Source: src})
	if got := mustValue(t, r); got != want || hops != processes {
		t.Errorf("after %d hops %s, in one process %s", hops, got, want)
	}
}

// TestImageAfterEveryJob takes and restores an image after each single job of
// the event loop, with other jobs pending.
func TestImageAfterEveryJob(t *testing.T) {
	e := openTest(t)
	for name, least := range map[string]int{"everything.js": 25, "churn.js": 200} {
		src := readTestdata(t, "suspend/"+name)
		want := mustValue(t, straight(t, e, src))
		s := stepper{t: t, e: e, v: newVM(t, e, engine.Options{}).(*vm)}
		if got := mustValue(t, s.run(src)); got != want {
			t.Errorf("%s with %d images\n%s\nwithout\n%s", name, s.images, got, want)
		}
		if s.images < least {
			t.Errorf("%s: only %d images were taken", name, s.images)
		}
		discard(t, s.v)
	}
}

// stepper runs a guest job by job, each in a restored VM.
type stepper struct {
	t      *testing.T
	e      *Engine
	v      *vm
	images int
}

func (s *stepper) run(src string) wire.Report {
	s.enter(func() (*wire.GuestError, error) { ctl().loaded = 1; return s.v.start(cell(src)), nil })
	r := s.drain()
	for r.Status == wire.StatusIdle {
		for _, a := range answer(r.Requests) {
			s.enter(func() (*wire.GuestError, error) { return s.v.settle(a) })
		}
		r = s.drain()
	}
	return r
}

func (s *stepper) reborn() {
	s.v = rebirth(s.t, s.e, s.v).(*vm)
	s.images++
}

func (s *stepper) enter(f func() (*wire.GuestError, error)) {
	s.t.Helper()
	err := s.v.guard(func() error {
		guest, err := f()
		if guest != nil {
			s.t.Fatalf("%+v", guest)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.reborn()
}

func (s *stepper) drain() (r wire.Report) {
	s.t.Helper()
	for s.v.stepOnce(s.t) {
		s.reborn()
	}
	if err := s.v.guard(func() (err error) { r, err = s.v.collect(); return err }); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// stepOnce runs one job or one timer and reports whether there was one.
func (v *vm) stepOnce(t *testing.T) (ran bool) {
	t.Helper()
	err := v.guard(func() error {
		switch r := v.js.job(); {
		case r < 0:
			t.Fatalf("%+v", v.thrown())
		case r > 0:
			ran = true
		default:
			fired := v.js.call(ctl().fire)
			ran = isTrue(fired)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ran
}

// TestPendingTimerSurvives: a timer set before an image fires after it, even
// when it fell due in between.
func TestPendingTimerSurvives(t *testing.T) {
	e := openTest(t)
	vm := newVM(t, e, engine.Options{})
	r := load(t, vm, `let n = 0; setTimeout(() => { n++ }, 0.5); const late = new Promise(f => setTimeout(() => f(n), 60_000)); setTimeout(() => { n = 7 }, 1);
		await tools.call('x'); return [n, await Promise.race([late, tools.call('y')])]`)
	vm = rebirth(t, e, vm)
	for r.Status == wire.StatusIdle {
		if r.TimerMillis < 0 {
			t.Fatalf("no timer is pending: %+v", r)
		}
		r = turn(t, vm, answer(r.Requests)...)
		vm = maybeRebirth(t, e, vm, r)
	}
	if r.Status != wire.StatusDone {
		t.Fatalf("%+v", r.Err)
	}
	discard(t, vm)
}

func maybeRebirth(t *testing.T, e *Engine, vm engine.VM, r wire.Report) engine.VM {
	if r.Status != wire.StatusIdle {
		return vm
	}
	return rebirth(t, e, vm)
}

// TestSnapshotLeavesTheGuestUsable: the VM runs on after an image, and the
// image is of the moment it was taken at.
func TestSnapshotLeavesTheGuestUsable(t *testing.T) {
	e := openTest(t)
	vm := newVM(t, e, engine.Options{})
	load(t, vm, `let x = 1; x += await tools.call('a'); return x`)
	img, err := vm.Snapshot(wire.MaxImage)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"1", "2", "3"} {
		r := turn(t, vm, wire.Settlement{ID: 1, OK: true, JSON: []byte(v)})
		if want := string('1' + v[0] - '0'); string(r.Value) != want {
			t.Errorf("settled with %s: %s", v, r.Value)
		}
		discard(t, vm)
		if vm, err = e.Restore(img, engine.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	discard(t, vm)
}

// TestEveryVMHasItsOwnRandomness: neither clones nor restored guests share
// the state of Math.random, and the seed alone decides it.
func TestEveryVMHasItsOwnRandomness(t *testing.T) {
	e := openTest(t)
	const src = `await tools.call('a'); return [Math.random(), Math.random()]`
	vm := newVM(t, e, engine.Options{Seed: [32]byte{1}})
	load(t, vm, src)
	img, err := vm.Snapshot(wire.MaxImage)
	if err != nil {
		t.Fatal(err)
	}
	discard(t, vm)
	seen := map[string]byte{}
	for _, seed := range []byte{0, 1, 2, 2} {
		vm, err := e.Restore(img, engine.Options{Seed: [32]byte{seed}})
		if err != nil {
			t.Fatal(err)
		}
		got := mustValue(t, turn(t, vm, wire.Settlement{ID: 1, OK: true, JSON: []byte("0")}))
		if other, ok := seen[got]; ok != (ok && other == seed) {
			t.Errorf("seeds %d and %d give the same numbers", other, seed)
		}
		seen[got] = seed
		discard(t, vm)
	}
	if len(seen) != 3 {
		t.Errorf("three seeds gave %d sequences", len(seen))
	}
}

// TestAnImageHasNoResidue: what a guest has freed is not in its image, also between
// the end of its heap and the end of the last page.
func TestAnImageHasNoResidue(t *testing.T) {
	e := openTest(t)
	vm := newVM(t, e, engine.Options{})
	load(t, vm, `await tools.call('a'); return 1`)
	c := ctl()
	end := arenaBase + uintptr(c.used())
	if end == c.heap.brk {
		t.Fatal("the heap ends with a page: make the program another one")
	}
	for p := c.heap.brk; p < end; p++ {
		*at[byte](p) = 0xaa
	}
	img, err := vm.Snapshot(wire.MaxImage)
	if err != nil {
		t.Fatal(err)
	}
	discard(t, vm)
	m, err := e.open(img)
	if err != nil {
		t.Fatal(err)
	}
	var last [pageWords]uint64
	if err := m.unpack(func(int) *[pageWords]uint64 { clear(last[:]); return &last }); err != nil {
		t.Fatal(err)
	}
	for i, word := range last {
		if word == 0xaaaaaaaaaaaaaaaa {
			t.Fatalf("word %d of the last page is what the guest had freed", i)
		}
	}
}
