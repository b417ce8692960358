//go:build unix

package quickjs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// newHeap makes a heap over fresh memory outside the Go heap.
func newHeap(t testing.TB, size int, limit uint64) *heap {
	t.Helper()
	mem, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	start := uintptr(unsafe.Pointer(&mem[0]))
	h := new(heap)
	h.init(start, start+uintptr(size), limit)
	return h
}

// walk checks the heap's own structure: blocks fill [start, brk) without gaps,
// links and bitmaps agree with them, no two free blocks touch, and the
// accounting is exact.
func (h *heap) walk() error {
	var live, blocks uint64
	free := map[uintptr]bool{}
	var prev uintptr
	prevFree := false
	for b := h.start; b != h.brk; b = b + blockHeader + uintptr(at[block](b).size()) {
		if b > h.brk || b%blockAlign != 0 {
			return fmt.Errorf("block %#x runs past brk", b)
		}
		bl := at[block](b)
		if bl.prev != prev {
			return fmt.Errorf("block %#x: predecessor %#x, not %#x", b, bl.prev, prev)
		}
		if bl.isFree() && prevFree {
			return fmt.Errorf("block %#x is free like its predecessor", b)
		}
		if bl.isFree() {
			free[b] = true
		} else {
			live += bl.size() + blockHeader
			blocks++
		}
		prev, prevFree = b, bl.isFree()
	}
	if h.last != prev || prevFree {
		return fmt.Errorf("last is %#x (free %v), not %#x", prev, prevFree, h.last)
	}
	if live != h.live || blocks != h.blocks || h.live > h.peak || h.live > h.limit {
		return fmt.Errorf("live %d in %d blocks, counted %d in %d, peak %d, limit %d", live, blocks, h.live, h.blocks, h.peak, h.limit)
	}
	return h.checkLists(free)
}

func (h *heap) checkLists(free map[uintptr]bool) error {
	listed := 0
	for fl := range h.free {
		for sl, b := range h.free[fl] {
			if (b != 0) != (h.sl[fl]&(1<<sl) != 0) {
				return fmt.Errorf("list %d/%d: bitmap is wrong", fl, sl)
			}
			for p := uintptr(0); b != 0; p, b = b, at[links](b+blockHeader).next {
				f, s := class(at[block](b).size())
				if !free[b] || f != fl || s != sl || at[links](b+blockHeader).prev != p {
					return fmt.Errorf("list %d/%d: block %#x does not belong", fl, sl, b)
				}
				listed++
			}
		}
		if (h.sl[fl] != 0) != (h.fl&(1<<fl) != 0) {
			return fmt.Errorf("list %d: bitmap is wrong", fl)
		}
	}
	if listed != len(free) {
		return fmt.Errorf("%d free blocks, %d listed", len(free), listed)
	}
	return nil
}

// modelled is a payload as the model knows it.
type modelled struct {
	addr uintptr
	data []byte
}

func (m modelled) check() error {
	if !bytes.Equal(bytesAt(m.addr, uintptr(len(m.data))), m.data) {
		return fmt.Errorf("the contents of %#x changed", m.addr)
	}
	return nil
}

func size() *rapid.Generator[int] {
	return rapid.OneOf(rapid.IntRange(0, 64), rapid.IntRange(0, 5000), rapid.IntRange(0, 200_000))
}

// TestHeapAgainstModel drives the heap with random requests next to a model of
// what each payload must hold.
func TestHeapAgainstModel(t *testing.T) {
	h := newHeap(t, 4<<20, 0)
	rapid.Check(t, func(t *rapid.T) {
		limit := uint64(rapid.IntRange(64<<10, 2<<20).Draw(t, "limit"))
		h.init(h.start, h.end, limit)
		var all []modelled
		fill := func(m modelled, from int) {
			seed := byte(rapid.IntRange(0, 255).Draw(t, "fill"))
			for i := from; i < len(m.data); i++ {
				m.data[i] = seed + byte(i)
			}
			copy(bytesAt(m.addr, uintptr(len(m.data))), m.data)
		}
		refused := func(n int, held uint64) {
			if h.live-held+roundPayload(uint64(n))+blockHeader+slack <= limit && h.end-h.brk > 256<<10 {
				t.Fatalf("%d bytes were refused with %d of %d in use", n, h.live, limit)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if err := h.walk(); err != nil {
					t.Fatal(err)
				}
				for _, m := range all {
					if err := m.check(); err != nil {
						t.Fatal(err)
					}
				}
			},
			"malloc": func(t *rapid.T) {
				n := size().Draw(t, "size")
				p := h.malloc(uint64(n))
				if p == 0 {
					refused(n, 0)
					return
				}
				if p%blockAlign != 0 || h.usable(p) < uint64(n) {
					t.Fatalf("malloc(%d) = %#x with %d bytes", n, p, h.usable(p))
				}
				m := modelled{p, make([]byte, n)}
				fill(m, 0)
				all = append(all, m)
			},
			"free": func(t *rapid.T) {
				if len(all) == 0 {
					h.dealloc(0)
					return
				}
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				h.dealloc(all[i].addr)
				all[i] = all[len(all)-1]
				all = all[:len(all)-1]
			},
			"realloc": func(t *rapid.T) {
				if len(all) == 0 {
					return
				}
				i, n := rapid.IntRange(0, len(all)-1).Draw(t, "which"), size().Draw(t, "size")
				old := all[i]
				p := h.realloc(old.addr, uint64(n))
				if p == 0 {
					refused(n, h.usable(old.addr)+blockHeader)
					return
				}
				m := modelled{p, make([]byte, n)}
				kept := copy(m.data, old.data)
				if !bytes.Equal(bytesAt(p, uintptr(kept)), m.data[:kept]) {
					t.Fatalf("realloc lost contents")
				}
				fill(m, kept)
				all[i] = m
			},
		})
		for _, m := range all {
			h.dealloc(m.addr)
		}
		if h.brk != h.start || h.live != 0 || h.blocks != 0 || h.fl != 0 {
			t.Fatalf("after freeing everything: %d bytes in use, %d live, %d blocks", h.brk-h.start, h.live, h.blocks)
		}
	})
}

func TestClassesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := roundPayload(uint64(rapid.OneOf(rapid.IntRange(1, 1000), rapid.IntRange(1, maxRequest)).Draw(t, "n")))
		fl, sl := fitClass(n)
		if fl >= flCount {
			return
		}
		// The smallest block of the list that is searched first holds n.
		least := uint64(sl * blockAlign)
		if fl > 0 {
			least = uint64(slCount+sl) << (fl + flShift - 1 - slBits)
		}
		if f, s := class(least); f != fl || s != sl || least < n {
			t.Fatalf("a block of %d bytes of list %d/%d is offered for %d", least, fl, sl, n)
		}
	})
}

func TestHeapLimitIsExact(t *testing.T) {
	const limit = 1 << 20
	h := newHeap(t, 4<<20, limit)
	p := h.malloc(limit - blockHeader - slack)
	if p == 0 || h.live != limit-slack || h.crossings != 0 {
		t.Fatalf("the limit cannot be reached: %d of %d", h.live, limit)
	}
	if h.realloc(p, limit) != 0 || h.malloc(1) != 0 || h.crossings != 2 {
		t.Fatal("the limit can be crossed")
	}
	if p = h.realloc(p, 16); p == 0 || h.live != 32 {
		t.Fatalf("shrinking left %d bytes live", h.live)
	}
	if p = h.realloc(p, limit-blockHeader-slack); p == 0 || h.peak != limit-slack {
		t.Fatal("growing back failed")
	}
	for _, n := range []uint64{1 << 32, 1 << 63, ^uint64(0)} {
		if h.malloc(n) != 0 || h.realloc(p, n) != 0 {
			t.Errorf("%d bytes were granted", n)
		}
	}
}

func TestReallocStaysInPlace(t *testing.T) {
	h := newHeap(t, 1<<20, 1<<20)
	a, b, c := h.malloc(1000), h.malloc(1000), h.malloc(1000)
	if q := h.realloc(c, 5000); q != c {
		t.Error("the last block moved although the wilderness was free")
	}
	h.dealloc(b)
	if q := h.realloc(a, 1800); q != a {
		t.Error("a block moved although its successor was free")
	}
	if q := h.realloc(a, 100); q != a || h.usable(a) != 112 {
		t.Errorf("shrinking moved or kept %d bytes", h.usable(a))
	}
	if err := h.walk(); err != nil {
		t.Error(err)
	}
}

func BenchmarkHeap(b *testing.B) {
	h := newHeap(b, 64<<20, 64<<20)
	r := rand.New(rand.NewPCG(1, 2))
	var slots [4096]uintptr
	sizes := make([]uint64, 8192)
	for i := range sizes {
		sizes[i] = uint64(r.IntN(1 << (4 + r.IntN(9))))
	}
	for i := 0; b.Loop(); i++ {
		s := &slots[(i*2654435761)%len(slots)]
		h.dealloc(*s)
		*s = h.malloc(sizes[i%len(sizes)])
	}
}
