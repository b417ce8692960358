//go:build linux && (amd64 || arm64)

package quickjs

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// minHeadroom is the least memory, in bytes, that a limit must leave a guest
// above the prelude.
const minHeadroom = 256 << 10

var (
	_ engine.Engine = (*Engine)(nil)
	_ engine.VM     = (*vm)(nil)
)

// Open reserves the arena and builds the template. It fails with
// engine.ErrUnsupported where images cannot work and with engine.ErrBusy when
// the process has an Engine already. The caller owns the Engine and closes it.
func Open(cfg Config) (*Engine, error) {
	if err := checkFixedAddresses(); err != nil {
		return nil, err
	}
	if err := checkPageSize(); err != nil {
		return nil, err
	}
	cfg = cfg.fill()
	reserve := cfg.ReserveBytes
	if reserve < minReserve || reserve > maxReserve {
		return nil, fmt.Errorf("quickjs: open: %w: a reserve of %d bytes", engine.ErrLimits, reserve)
	}
	if err := reserveArena(reserve); err != nil {
		return nil, err
	}
	e := &Engine{lib: newLibrary()}
	err := e.build(reserve, cfg)
	if err == nil {
		err = e.rehearse()
	}
	if err != nil {
		return nil, errors.Join(err, e.unmap(reserve))
	}
	return e, nil
}

func (e *Engine) build(reserve uint64, cfg Config) error {
	if err := buildTemplate(e.lib, reserve, cfg.Prelude); err != nil {
		return err
	}
	c := ctl()
	e.live = c.heap.live
	view, err := shareTemplate(c.used())
	if err != nil {
		return err
	}
	if err := dropPages(arenaBase, reserve); err != nil {
		return err
	}
	e.view = view
	e.origin = origin{build: cfg.BuildID, template: c.fingerprint(cfg.Prelude), base: uint64(arenaBase), reserve: reserve}
	return nil
}

// ID names the engine and its version.
func (e *Engine) ID() string { return engineID }

// TemplateSum identifies the template. It is equal in every process of one
// build, and images of different templates are refused.
func (e *Engine) TemplateSum() [32]byte { return e.origin.template }

// New makes a VM. It fails with engine.ErrBusy while another is alive and with
// engine.ErrLimits when the memory limit is beyond what the arena can serve.
func (e *Engine) New(o engine.Options) (engine.VM, error) {
	limits, err := e.admit(o)
	if err != nil {
		return nil, fmt.Errorf("quickjs: new: %w", err)
	}
	return e.attach(o, limits), nil
}

// admit checks that a VM with these options can be made now.
func (e *Engine) admit(o engine.Options) (wire.Limits, error) {
	l := orElse(o.Limits, defaultLimits)
	switch {
	case e.closed:
		return l, fmt.Errorf("%w: the engine is closed", engine.ErrDead)
	case e.vm != nil:
		return l, engine.ErrBusy
	case l.MemoryBytes < e.live+minHeadroom:
		return l, fmt.Errorf("%w: %d bytes of memory, at least %d are needed", engine.ErrLimits, l.MemoryBytes, e.live+minHeadroom)
	case l.MemoryBytes > e.origin.reserve-e.origin.reserve/8:
		return l, fmt.Errorf("%w: %d bytes of memory exceed the reserve of %d", engine.ErrLimits, l.MemoryBytes, e.origin.reserve)
	}
	return l, nil
}

// attach makes the VM of what the arena holds.
func (e *Engine) attach(o engine.Options, l wire.Limits) *vm {
	c := ctl()
	v := &vm{engine: e, files: o.Files, js: e.lib.js(c)}
	c.limits = l
	c.setMemoryLimit(l.MemoryBytes)
	v.seed(o.Seed)
	c.poll()
	e.vm = v
	return v
}

// seedState folds a seed into the state of Math.random, which must not be 0.
func seedState(seed [32]byte) uint64 {
	sum := sha256.Sum256(seed[:])
	return binary.LittleEndian.Uint64(sum[:]) | 1
}

// release returns the arena to the template after a VM.
func (e *Engine) release(v *vm) error {
	if e.vm != v {
		return nil
	}
	e.vm = nil
	if v.broken {
		e.lib.renew()
	}
	return e.reset()
}

// Close discards a live VM and unmaps everything. It is idempotent.
func (e *Engine) Close() error {
	if e.closed {
		return nil
	}
	e.closed = true
	if e.vm != nil {
		e.vm.dead = true
		e.vm = nil
	}
	if e.dec != nil {
		e.dec.Close()
	}
	e.lib.close()
	return e.unmap(e.origin.reserve)
}

// unmap gives all address space back.
func (e *Engine) unmap(reserve uint64) error {
	if e.view != nil {
		if err := unix.Munmap(e.view); err != nil {
			return fmt.Errorf("quickjs: unmap template: %w", err)
		}
	}
	if err := unmapArena(arenaBase, reserve); err != nil {
		return fmt.Errorf("quickjs: unmap arena: %w", err)
	}
	return nil
}
