//go:build linux && (amd64 || arm64)

package quickjs

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// buildTemplate initialises the engine and the prelude in the fresh arena and
// leaves it in a state that is the same in every process of one build, but for
// padding that nothing reads.
func buildTemplate(l *library, reserve uint64, prelude string) error {
	c := ctl()
	c.magic = controlMagic
	c.heap.init(arenaBase+controlSize, arenaBase+uintptr(reserve), reserve)
	c.full = reserve
	v := &vm{}
	return v.guard(func() (err error) {
		if v.js, err = l.create(c); err != nil {
			return err
		}
		c.cell = undefined
		if err := v.initPrelude(c, prelude); err != nil {
			return err
		}
		v.runJobs()
		c.finishTemplate(v.js)
		return nil
	})
}

// initPrelude evaluates the prelude, hands it its native functions and keeps
// its entry functions.
func (v *vm) initPrelude(c *control, src string) error {
	j := v.js
	install := j.evalPrelude(src, preludeName)
	if isException(install) {
		return fmt.Errorf("quickjs: open: prelude: %w", v.thrownError())
	}
	native, ok := j.nativeObject(c)
	if !ok {
		return fmt.Errorf("quickjs: open: native object: %w", v.thrownError())
	}
	entry := j.call(install, native)
	j.free(native)
	j.free(install)
	if isException(entry) {
		return fmt.Errorf("quickjs: open: prelude: %w", v.thrownError())
	}
	defer j.free(entry)
	for _, f := range []struct {
		name string
		slot *value
	}{{"start", &c.start}, {"settle", &c.settle}, {"fire", &c.fire}, {"drain", &c.drain}} {
		*f.slot = j.get(entry, f.name)
		if !j.isFunction(*f.slot) {
			return fmt.Errorf("quickjs: open: the prelude has no function %s", f.name)
		}
	}
	return nil
}

// finishTemplate brings the arena to its reproducible resting state.
func (c *control) finishTemplate(j js) {
	j.collect()
	c.seed(templateSeed)
	c.setCollectAt(2 * c.heap.live)
	c.heap.crossings, c.kill = 0, 0
	c.heap.peak = c.heap.live
	c.settled = c.heap.live
	c.scrubPools()
	c.heap.eachFree(func(from, to uintptr) { clear(bytesAt(from, to-from)) })
	clear(bytesAt(c.heap.brk, uintptr(c.used())-(c.heap.brk-arenaBase)))
}

// fingerprint identifies a template by what it was made of and how its heap
// came out. It is no hash of the bytes: QuickJS leaves padding unwritten, and
// a block that is used again keeps stale stack addresses in it, which differ
// between processes and which nothing reads.
func (c *control) fingerprint(prelude string) [32]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%d\x00%s", engineID, len(prelude), prelude)
	words := []uint64{
		uint64(c.heap.start), uint64(c.heap.brk), uint64(c.heap.end), uint64(c.heap.last),
		c.heap.live, c.heap.blocks, uint64(c.rt), uint64(c.ctx),
	}
	for _, v := range []value{c.start, c.settle, c.fire, c.drain, c.rejections} {
		words = append(words, uint64(pointer(v)))
	}
	if err := binary.Write(h, binary.LittleEndian, words); err != nil {
		panic("quickjs: hashing cannot fail: " + err.Error())
	}
	return [32]byte(h.Sum(nil))
}
