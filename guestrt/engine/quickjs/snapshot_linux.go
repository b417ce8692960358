//go:build linux && (amd64 || arm64)

package quickjs

import (
	"bytes"
	"fmt"
	"unsafe"

	"github.com/klauspost/compress/zstd"
	lib "modernc.org/libquickjs"

	"github.com/quoinhq/quoin/guestrt/engine"
)

// collectGrowth is how much the heap must have grown since the last full
// collection, in bytes, for another one to be worth its time before an image.
const collectGrowth = 1 << 20

// zstdWindow covers the repeats there are between pages and keeps the
// encoder's memory small.
const zstdWindow = 1 << 20

// Snapshot returns an image of the guest. It may be called before Load and
// between turns; the VM stays usable.
func (v *vm) Snapshot() (img []byte, err error) {
	if err := v.usable(); err != nil {
		return nil, fmt.Errorf("quickjs: snapshot: %w", err)
	}
	err = v.guard(func() error {
		c := ctl()
		if !c.quiescent() {
			return fmt.Errorf("quickjs: snapshot: guest code is on the stack")
		}
		if c.heap.live > c.settled+collectGrowth {
			lib.XJS_RunGC(v.js.tls, v.js.rt)
			c.settled = c.heap.live
		}
		img, err = v.engine.image(c)
		return err
	})
	return img, err
}

// image encodes the arena.
func (e *Engine) image(c *control) ([]byte, error) {
	if e.enc == nil {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("quickjs: snapshot: %w", err)
		}
		e.enc = enc
	}
	raw := e.delta(c)
	payload := e.enc.EncodeAll(raw, nil)
	return sealImage(e.origin, c.limits, c.used(), uint64(len(raw)), payload), nil
}

// delta returns one kind byte for each used page and what differs from the
// template. It stores whole words that changed and says nothing of the others:
// some words of the template are padding that differs from process to process.
func (e *Engine) delta(c *control) []byte {
	used := c.used()
	pages := int(used / pageSize)
	skip := scrub(c)
	out := make([]byte, pages, pages+64*pageSize)
	for i := range pages {
		if skip[i] {
			continue
		}
		base := &zeroWords
		if off := i * pageSize; off < len(e.view) {
			base = (*[pageWords]uint64)(unsafe.Pointer(&e.view[off]))
		}
		n := len(out)
		if out = appendChanged(out, pageAt(i), base); len(out) > n {
			out[i] = pageChanged
		}
	}
	return out
}

// pageAt is page i of the arena.
func pageAt(i int) *[pageWords]uint64 {
	return at[[pageWords]uint64](arenaBase + uintptr(i)*pageSize)
}

var (
	zeroWords [pageWords]uint64
	zeroPage  [pageSize]byte
)

func isZero(b []byte) bool {
	for len(b) >= pageSize {
		if *(*[pageSize]byte)(b) != zeroPage {
			return false
		}
		b = b[pageSize:]
	}
	return bytes.Equal(b, zeroPage[:len(b)])
}

// Restore makes a VM of an image. The image is verified and unpacked before
// the arena is touched. The seed is that of o, and so are the limits; those
// that are zero there stay as they were when the image was taken.
func (e *Engine) Restore(img []byte, o engine.Options) (engine.VM, error) {
	m, err := e.open(img)
	if err != nil {
		return nil, err
	}
	o.Limits = orElse(o.Limits, m.limits)
	limits, err := e.admit(o)
	if err != nil {
		return nil, fmt.Errorf("quickjs: restore: %w", err)
	}
	e.apply(m)
	if err := ctl().verify(e.origin, m.used); err != nil {
		if dropErr := dropPages(arenaBase, e.origin.reserve); dropErr != nil {
			return nil, dropErr
		}
		return nil, err
	}
	return e.attach(o, limits), nil
}

// open verifies and unpacks an image.
func (e *Engine) open(img []byte) (*image, error) {
	if e.closed {
		return nil, fmt.Errorf("quickjs: restore: %w: the engine is closed", engine.ErrDead)
	}
	if e.dec == nil {
		dec, err := newDecoder()
		if err != nil {
			return nil, fmt.Errorf("quickjs: restore: %w", err)
		}
		e.dec = dec
	}
	return openImage(img, e.origin, e.origin.reserve, e.dec)
}

// apply writes the image's pages over the pristine arena.
func (e *Engine) apply(m *image) {
	rest := m.pages
	for i, kind := range m.kinds {
		if kind == pageChanged {
			rest = applyChanged(pageAt(i), rest)
		}
	}
}

// verify checks what the adapter itself relies on in a restored arena.
func (c *control) verify(o origin, used uint64) error {
	ok := c.magic == controlMagic && c.heap.start == arenaBase+controlSize &&
		c.heap.end == arenaBase+uintptr(o.reserve) && c.heap.brk >= c.heap.start && c.heap.brk <= c.heap.end &&
		c.used() == used && c.inArena(c.rt-blockHeader) && c.inArena(c.ctx&^(blockAlign-1))
	if !ok {
		return fmt.Errorf("quickjs: restore: %w: impossible heap", engine.ErrCorrupt)
	}
	return nil
}
