//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

import (
	"errors"
	"testing"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// computedRead is what the library says of a read of undefined["b"].
const computedRead = "cannot read property of undefined"

// otherAnswers are the programs of testdata/diff that this library answers in another
// way than the oracle, which is made of the same QuickJS.
const otherAnswers = ""

// wantMemory makes the library ask the system for more memory than there is: for a
// stack frame of C.
func wantMemory(j js) { j.tls.Alloc(1 << 46) }

// TestMemoryFaultKillsTheVM: a wild pointer in the heap is an error, not the
// end of the process.
func TestMemoryFaultKillsTheVM(t *testing.T) {
	e := openTest(t)
	vm := newVM(t, e, engine.Options{})
	load(t, vm, `await tools.call('a')`)
	ctl().settle.bits = 0x5000_0000_0000
	if _, err := vm.Turn([]wire.Settlement{{ID: 1, OK: true, JSON: []byte("1")}}, soon()); !errors.Is(err, engine.ErrDead) {
		t.Errorf("fault: %v", err)
	}
	discard(t, vm)
	if got := mustValue(t, run(t, e, engine.Options{}, "return 1")); got != "1" {
		t.Errorf("after the fault: %s", got)
	}
}
