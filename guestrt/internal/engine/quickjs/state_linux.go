//go:build linux && (amd64 || arm64)

package quickjs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// ending says why a guest was stopped by the engine.
type ending uint8

const (
	endNone     ending = iota
	endDeadline        // interrupted at the deadline
	endMemory          // a second crossing of the memory limit
)

// vm is the live guest. What must survive a snapshot is in the arena; here is
// only what belongs to this process and this turn.
type vm struct {
	engine   *Engine
	js       js
	files    engine.Files
	random   *rand.ChaCha8
	clock    clock
	deadline time.Time
	end      ending

	finished bool             // the program has ended
	dead     bool             // discarded
	broken   bool             // the engine panicked
	jobErr   *wire.GuestError // the first exception that escaped a job

	hints map[string]string // what the host said of mistakes, by virtual file

	replayed    *trace    // of the turn to replay; nil: the turn is the first of its kind
	seeded      *[32]byte // no trace has this seed yet
	stateBefore uint64    // of Math.random, before the turn
	drawn       uint64    // random bytes in this turn
}

// Engine makes VMs from a template it built at Open.
type Engine struct {
	origin origin
	view   []byte // the template's bytes
	live   uint64 // heap bytes of the template
	lib    *library
	vm     *vm // the live VM
	closed bool

	enc *zstd.Encoder // made at the first Snapshot
	dec *zstd.Decoder // made at the first Restore
}

// running is the VM that has its turn. There is one VM per process and its
// methods are not called concurrently.
var running *vm

// errRefusal is the panic that ends a guest at its memory limit, in a function of the
// engine that does not survive a refused allocation.
var errRefusal = errors.New("the engine does not survive a refused allocation here")

// guard runs f as a part of a turn. A panic or a memory fault in the engine
// becomes an error and the end of the VM.
func (v *vm) guard(f func() error) (err error) {
	running = v
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		running = nil
		if r := recover(); r != nil {
			v.broken = true
			err = fmt.Errorf("quickjs: %w: the engine failed: %v\n%s", causeOf(r), r, debug.Stack())
		}
	}()
	return f()
}

// over reports whether the guest must stop, and remembers why.
func (v *vm) over() bool {
	if v.end == endNone {
		switch {
		case ctl().kill != 0:
			v.end = endMemory
		case !v.deadline.IsZero() && time.Until(v.deadline) <= 0:
			v.end = endDeadline
		}
	}
	return v.end != endNone
}

// usable fails unless a turn or a snapshot may start.
func (v *vm) usable() error {
	if v.dead || v.broken || v.finished || v.end != endNone {
		return engine.ErrDead
	}
	return nil
}

// stopped reports whether the guest must stop.
func (v *vm) stopped() bool { return v.over() || v.jobErr != nil || ctl().lost != 0 }

// causeOf tells a panic for want of memory from a bug. The C library's own comes
// as a text that ends in OOM.
func causeOf(panicked any) error {
	switch r := panicked.(type) {
	case error:
		if errors.Is(r, engine.ErrMemory) || errors.Is(r, errRefusal) {
			return r
		}
	case string:
		if strings.HasSuffix(r, "OOM") {
			return engine.ErrMemory
		}
	}
	return engine.ErrDead
}

const (
	preludeName = "quoin:prelude"

	// templateSeed is the state of Math.random in the template. Every VM
	// gets its own before guest code runs.
	templateSeed = 1
)
