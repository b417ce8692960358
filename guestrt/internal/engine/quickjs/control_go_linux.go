//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

import lib "modernc.org/libquickjs"

func (c *control) runtime() *lib.TJSRuntime { return at[lib.TJSRuntime](c.rt) }

func (c *control) context() *lib.TJSContext { return at[lib.TJSContext](c.ctx) }

// collectAt is the size of the heap, in bytes, at which the collector runs.
func (c *control) collectAt() uint64 { return uint64(c.runtime().Fmalloc_gc_threshold) }

func (c *control) setCollectAt(n uint64) { c.runtime().Fmalloc_gc_threshold = lib.Tsize_t(n) }

// quiescent reports whether no guest function is on the stack.
func (c *control) quiescent() bool { return c.runtime().Fcurrent_stack_frame == 0 }

// seed sets the state of Math.random, which must not be 0.
func (c *control) seed(state uint64) { c.context().Frandom_state = state }

// randomState is the state of Math.random.
func (c *control) randomState() uint64 { return c.context().Frandom_state }

// poll makes the interrupt hook be called soon.
func (c *control) poll() { c.context().Finterrupt_counter = pollEvery }

// pollEvery is how many calls and backward branches pass between two polls.
// QuickJS would make it ten thousand, which is seconds where each is dear.
const pollEvery = 500
