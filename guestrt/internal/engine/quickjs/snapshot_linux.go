//go:build linux && (amd64 || arm64)

package quickjs

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"github.com/klauspost/compress/zstd"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
)

// collectGrowth is how much the heap must have grown since the last full
// collection, in bytes, for another one to be worth its time before an image.
const collectGrowth = 1 << 20

// Snapshot returns an image of the guest of at most so many bytes, or an
// engine.TooLargeError. It may be called before Load and between turns; the VM
// stays usable.
func (v *vm) Snapshot(most int) (img []byte, err error) {
	if err := v.usable(); err != nil {
		return nil, fmt.Errorf("quickjs: snapshot: %w", err)
	}
	err = v.guard(func() error {
		c := ctl()
		if !c.quiescent() {
			return fmt.Errorf("quickjs: snapshot: guest code is on the stack")
		}
		if c.heap.live > c.settled+collectGrowth {
			v.js.collect()
			c.settled = c.heap.live
		}
		img, err = v.engine.image(c, most)
		return err
	})
	return img, err
}

// image encodes the arena: one kind byte for each used page, then what differs
// from the template. It goes through the encoder page by page, because the Go
// heap keeps every byte it ever had, and the process has a limit.
func (e *Engine) image(c *control, most int) ([]byte, error) {
	if e.enc == nil {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("quickjs: snapshot: %w", err)
		}
		e.enc = enc
	}
	out := &capped{parts: [][]byte{make([]byte, imageHeader)}, size: imageHeader, most: most}
	e.enc.Reset(out)
	raw, err := e.encode(c)
	if err := errors.Join(err, e.enc.Close()); err != nil {
		return nil, fmt.Errorf("quickjs: snapshot: %w", err)
	}
	if out.size > most {
		return nil, &engine.TooLargeError{Bytes: out.size}
	}
	img := bytes.Join(out.parts, nil)
	sealImage(img, e.origin, c.limits, c.used(), raw)
	return img, nil
}

// encode writes the payload into the encoder and returns its length. It stores
// whole words that changed and says nothing of the others: some words of the
// template are padding that differs from process to process.
func (e *Engine) encode(c *control) (raw uint64, err error) {
	kinds := e.kinds(c)
	if _, err := e.enc.Write(kinds); err != nil {
		return 0, err
	}
	raw = uint64(len(kinds))
	var page []byte
	for i, kind := range kinds {
		if kind == pageSame {
			continue
		}
		page = appendChanged(page[:0], pageAt(i), e.templatePage(i))
		if _, err := e.enc.Write(page); err != nil {
			return 0, err
		}
		raw += uint64(len(page))
	}
	return raw, nil
}

// kinds returns the kind of every used page, after it has cleared what is not in
// use.
func (e *Engine) kinds(c *control) []byte {
	free := scrub(c)
	kinds := make([]byte, len(free))
	for i := range kinds {
		if !free[i] && *pageAt(i) != *e.templatePage(i) {
			kinds[i] = pageChanged
		}
	}
	return kinds
}

// templatePage is what page i of the arena is in the template.
func (e *Engine) templatePage(i int) *[pageWords]uint64 {
	if off := i * pageSize; off < len(e.view) {
		return (*[pageWords]uint64)(unsafe.Pointer(&e.view[off]))
	}
	return &zeroWords
}

// capped keeps what is written to it, up to a size, and counts the rest. It keeps
// parts, so that it never needs the memory of what it has twice.
type capped struct {
	parts [][]byte
	size  int
	most  int
}

func (c *capped) Write(p []byte) (int, error) {
	if c.size += len(p); c.size <= c.most {
		c.parts = append(c.parts, bytes.Clone(p))
	} else {
		c.parts = nil
	}
	return len(p), nil
}

// pageAt is page i of the arena.
func pageAt(i int) *[pageWords]uint64 {
	return at[[pageWords]uint64](arenaBase + uintptr(i)*pageSize)
}

var (
	zeroWords [pageWords]uint64
)

// Restore makes a VM of an image. What is wrong with the image is found before
// the arena is used, which is the template's again then. Seed and limits are o's; limits
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
	err = m.unpack(pageAt)
	if err == nil {
		err = ctl().verify(e.origin, m.used)
	}
	if err != nil {
		if dropErr := dropPages(arenaBase, e.origin.reserve); dropErr != nil {
			return nil, dropErr
		}
		return nil, err
	}
	return e.attach(o, limits), nil
}

// open verifies the envelope of an image.
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
