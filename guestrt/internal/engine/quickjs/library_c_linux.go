//go:build linux && (amd64 || arm64) && quickjs_c

package quickjs

// #include "shim.h"
import "C"

import (
	"fmt"
	"math"
	"time"
	"unsafe"
)

// The library is the archive that quoin-native builds, with shim.h: so
// header and code cannot differ. What this package writes of the layout itself is
// compared here.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(value{})-unsafe.Sizeof(C.qn_value{})]
	_ = [1]struct{}{}[unsafe.Sizeof(control{})-unsafe.Sizeof(C.qn_control{})]
	_ = [1]struct{}{}[unsafe.Offsetof(control{}.heap)-unsafe.Offsetof(C.qn_control{}.heap)]
	_ = [1]struct{}{}[unsafe.Offsetof(control{}.rt)-unsafe.Offsetof(C.qn_control{}.rt)]
	_ = [1]struct{}{}[unsafe.Offsetof(control{}.full)-unsafe.Offsetof(C.qn_control{}.full)]
	_ = [1]struct{}{}[unsafe.Offsetof(control{}.kill)-unsafe.Offsetof(C.qn_control{}.kill)]
	_ = [1]struct{}{}[unsafe.Offsetof(control{}.lost)-unsafe.Offsetof(C.qn_control{}.lost)]
	_ = [1]struct{}{}[unsafe.Offsetof(control{}.rejections)-unsafe.Offsetof(C.qn_control{}.rejections)]
	_ = [1]struct{}{}[unsafe.Offsetof(control{}.cell)-unsafe.Offsetof(C.qn_control{}.cell)]
	_ = [1]struct{}{}[unsafe.Sizeof(heap{})-unsafe.Sizeof(C.qn_heap{})]
	_ = [1]struct{}{}[unsafe.Offsetof(heap{}.brk)-unsafe.Offsetof(C.qn_heap{}.brk)]
	_ = [1]struct{}{}[unsafe.Offsetof(heap{}.last)-unsafe.Offsetof(C.qn_heap{}.last)]
	_ = [1]struct{}{}[unsafe.Offsetof(heap{}.live)-unsafe.Offsetof(C.qn_heap{}.live)]
	_ = [1]struct{}{}[unsafe.Offsetof(heap{}.limit)-unsafe.Offsetof(C.qn_heap{}.limit)]
	_ = [1]struct{}{}[unsafe.Offsetof(heap{}.crossings)-unsafe.Offsetof(C.qn_heap{}.crossings)]
	_ = [1]struct{}{}[unsafe.Offsetof(heap{}.fl)-unsafe.Offsetof(C.qn_heap{}.fl)]
	_ = [1]struct{}{}[unsafe.Offsetof(heap{}.sl)-unsafe.Offsetof(C.qn_heap{}.sl)]
	_ = [1]struct{}{}[unsafe.Offsetof(heap{}.free)-unsafe.Offsetof(C.qn_heap{}.free)]

	_ = [1]struct{}{}[blockHeader-C.BLOCK_HEADER]
	_ = [1]struct{}{}[minPayload-C.MIN_PAYLOAD]
	_ = [1]struct{}{}[slack-C.SLACK]
	_ = [1]struct{}{}[maxRequest-C.MAX_REQUEST]
	_ = [1]struct{}{}[freeBit-C.FREE_BIT]

	_ = [1]struct{}{}[endNone-C.QN_END_NONE]
	_ = [1]struct{}{}[endDeadline-C.QN_END_DEADLINE]
	_ = [1]struct{}{}[endMemory-C.QN_END_MEMORY]
)

// js is the live guest as this library knows it: there is one.
type js struct{}

// library is what the process needs to call QuickJS: nothing.
type library struct{}

func newLibrary() *library { return &library{} }
func (l *library) renew()  {}
func (l *library) close()  {}

// js takes over an arena after Go has replaced its contents.
func (l *library) js(c *control) js {
	C.qn_adopt()
	return js{}
}

// create makes the runtime and the context in the fresh arena.
func (l *library) create(c *control) (js, error) {
	if C.qn_init((*C.qn_control)(unsafe.Pointer(c))) != 0 {
		return js{}, fmt.Errorf("quickjs: open: no memory for the runtime and its context")
	}
	return js{}, nil
}

// remaining is the time until a deadline as the library takes it: 0 without one.
func remaining(deadline time.Time) C.int64_t {
	if deadline.IsZero() {
		return 0
	}
	return C.int64_t(max(1, time.Until(deadline)))
}

// guest runs f, which may run code of the guest's, as a part of the running VM's turn.
func guest(f func()) {
	v := running
	if v == nil {
		f()
		return
	}
	C.qn_enter(remaining(v.deadline), C.int(v.end))
	f()
	v.end = ending(C.qn_leave())
}

// runJobs executes pending jobs until no job is left or the guest must stop.
func (v *vm) runJobs() {
	if v.js.jobs(math.MaxInt32) < 0 {
		v.jobErr = v.thrown()
	}
}

// jobs runs at most so many pending jobs and returns how many there were. It is
// negative, with an exception pending, when one threw.
func (j js) jobs(most int) (n int) {
	guest(func() { n = int(C.qn_run_jobs(C.int(most))) })
	return n
}

// job runs one pending job.
func (j js) job() int { return j.jobs(1) }

// collect frees what no one can reach.
func (j js) collect() { C.qn_collect() }

// quiescent reports whether no guest function is on the stack.
func (c *control) quiescent() bool { return C.qn_quiescent() != 0 }

// collectAt is the size of the heap, in bytes, at which the collector runs.
func (c *control) collectAt() uint64 { return uint64(C.qn_collect_at()) }

func (c *control) setCollectAt(n uint64) { C.qn_set_collect_at(C.uint64_t(n)) }

// seed sets the state of Math.random, which must not be 0.
func (c *control) seed(state uint64) { C.qn_seed(C.uint64_t(state)) }

// randomState is the state of Math.random.
func (c *control) randomState() uint64 { return uint64(C.qn_random_state()) }

// poll makes the engine look at the limits soon.
func (c *control) poll() { C.qn_poll() }

// scrubPools has nothing to do: this library keeps no pools of its own.
func (c *control) scrubPools() {}
