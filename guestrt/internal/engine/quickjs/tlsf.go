package quickjs

import (
	"math/bits"
	"unsafe"
)

// The heap is a two-level segregated fit allocator (TLSF). Its whole state
// lies in the arena: the control block at the start, then blocks without gaps
// up to brk. Each block starts with a 16-byte header that holds its size and
// the address of its physical predecessor, so that freeing merges with both
// neighbours in constant time. Free blocks keep their list links in their
// payload. The last block is never free: its space goes back to the wilderness
// above brk.
const (
	blockHeader = 16
	blockAlign  = 16
	minPayload  = 16

	slBits  = 4 // second level classes per power of two, as a power of two
	slCount = 1 << slBits
	smallSz = slCount * blockAlign // below it classes are 16 bytes wide
	flShift = slBits + 4           // log2(smallSz)
	flCount = 32 - flShift + 1     // payloads up to 4 GiB

	// slack is what a block may hold beyond its request, because a remainder
	// too small for a block of its own stays with it.
	slack = blockHeader

	maxRequest = 1<<32 - 1<<20

	freeBit = 1
)

// block is the header in front of each payload.
type block struct {
	sizeFlags uint64  // payload bytes, a multiple of 16, and freeBit
	prev      uintptr // the block that ends where this one starts, or 0
}

// links is the start of a free block's payload.
type links struct {
	next, prev uintptr
}

// heap is the allocator's control block. Addresses in it are absolute.
type heap struct {
	start, brk, end uintptr
	last            uintptr // the block below brk, or 0
	live, peak      uint64  // bytes of allocated blocks, headers included
	blocks          uint64  // allocated blocks
	limit           uint64  // live never exceeds it
	crossings       uint64  // requests refused because of limit or end
	fl              uint32
	sl              [flCount]uint16
	free            [flCount][slCount]uintptr
}

// at turns an address outside the Go heap into a pointer.
func at[T any](p uintptr) *T { return (*T)(unsafe.Add(nil, p)) }

// bytesAt views n bytes at an address outside the Go heap.
func bytesAt(p, n uintptr) []byte { return unsafe.Slice(at[byte](p), n) }

func (b *block) size() uint64 { return b.sizeFlags &^ (blockAlign - 1) }
func (b *block) isFree() bool { return b.sizeFlags&freeBit != 0 }
func (b *block) set(size uint64, free bool) {
	b.sizeFlags = size
	if free {
		b.sizeFlags |= freeBit
	}
}

// init prepares an empty heap over [start, end), both multiples of 16.
func (h *heap) init(start, end uintptr, limit uint64) {
	*h = heap{start: start, brk: start, end: end, limit: limit}
}

func roundPayload(n uint64) uint64 {
	if n <= minPayload {
		return minPayload
	}
	return (n + blockAlign - 1) &^ (blockAlign - 1)
}

// class returns the list that a block of the given payload belongs to.
func class(size uint64) (fl, sl int) {
	if size < smallSz {
		return 0, int(size / blockAlign)
	}
	top := bits.Len64(size) - 1
	return top - flShift + 1, int(size>>(top-slBits)) & (slCount - 1)
}

// fitClass returns the first list in which every block holds size bytes.
func fitClass(size uint64) (fl, sl int) {
	if size >= smallSz {
		size += uint64(1)<<(bits.Len64(size)-1-slBits) - 1
	}
	return class(size)
}

// malloc returns the address of n usable bytes, or 0 when that would exceed
// the limit or the arena.
func (h *heap) malloc(n uint64) uintptr {
	size := roundPayload(n)
	if n > maxRequest || h.live+size+blockHeader+slack > h.limit {
		h.crossings++
		return 0
	}
	b := h.takeFree(size)
	if b == 0 {
		b = h.extend(size)
	}
	if b == 0 {
		h.crossings++
		return 0
	}
	h.blocks++
	h.grow(at[block](b).size() + blockHeader)
	return b + blockHeader
}

func (h *heap) grow(n uint64) {
	h.live += n
	h.peak = max(h.peak, h.live)
}

// takeFree removes a free block of at least size bytes from its list and gives
// back what is too much.
func (h *heap) takeFree(size uint64) uintptr {
	fl, sl := fitClass(size)
	if fl >= flCount {
		return 0
	}
	m := h.sl[fl] & (^uint16(0) << sl)
	if m == 0 {
		fm := h.fl & (^uint32(0) << (fl + 1))
		if fm == 0 {
			return 0
		}
		fl = bits.TrailingZeros32(fm)
		m = h.sl[fl]
	}
	b := h.free[fl][bits.TrailingZeros16(m)]
	h.unlink(b)
	at[block](b).set(at[block](b).size(), false)
	h.trim(b, size)
	return b
}

// extend makes a new block at brk.
func (h *heap) extend(size uint64) uintptr {
	if uint64(h.end-h.brk) < size+blockHeader {
		return 0
	}
	b := h.brk
	*at[block](b) = block{prev: h.last}
	at[block](b).set(size, false)
	h.last = b
	h.brk += blockHeader + uintptr(size)
	return b
}

// next returns the block after b, or 0 when b is the last.
func (h *heap) next(b uintptr) uintptr {
	n := b + blockHeader + uintptr(at[block](b).size())
	if n == h.brk {
		return 0
	}
	return n
}

// trim cuts the tail beyond size off the allocated block b. The tail is freed;
// b must not be counted in live yet.
func (h *heap) trim(b uintptr, size uint64) {
	rest := at[block](b).size() - size
	if rest < blockHeader+minPayload {
		return
	}
	tail := b + blockHeader + uintptr(size)
	at[block](b).set(size, false)
	*at[block](tail) = block{prev: b}
	at[block](tail).set(rest-blockHeader, false)
	if h.last == b {
		h.last = tail
	} else {
		at[block](h.next(tail)).prev = tail
	}
	h.release(tail)
}

// dealloc frees the payload at p. Freeing 0 does nothing.
func (h *heap) dealloc(p uintptr) {
	if p == 0 {
		return
	}
	b := p - blockHeader
	h.blocks--
	h.live -= at[block](b).size() + blockHeader
	h.release(b)
}

// release merges the block b with its free neighbours and files the result,
// or returns it to the wilderness.
func (h *heap) release(b uintptr) {
	if n := h.next(b); n != 0 && at[block](n).isFree() {
		h.unlink(n)
		h.join(b, n)
	}
	if p := at[block](b).prev; p != 0 && at[block](p).isFree() {
		h.unlink(p)
		h.join(p, b)
		b = p
	}
	if b == h.last {
		h.last = at[block](b).prev
		h.brk = b
		return
	}
	h.link(b)
}

// join makes one block of a and its successor b.
func (h *heap) join(a, b uintptr) {
	at[block](a).set(at[block](a).size()+blockHeader+at[block](b).size(), false)
	if h.last == b {
		h.last = a
		return
	}
	at[block](h.next(a)).prev = a
}

// link files the block b as free.
func (h *heap) link(b uintptr) {
	size := at[block](b).size()
	at[block](b).set(size, true)
	fl, sl := class(size)
	head := h.free[fl][sl]
	*at[links](b + blockHeader) = links{next: head}
	if head != 0 {
		at[links](head + blockHeader).prev = b
	}
	h.free[fl][sl] = b
	h.sl[fl] |= 1 << sl
	h.fl |= 1 << fl
}

// unlink takes the free block b off its list.
func (h *heap) unlink(b uintptr) {
	l := *at[links](b + blockHeader)
	if l.next != 0 {
		at[links](l.next + blockHeader).prev = l.prev
	}
	if l.prev != 0 {
		at[links](l.prev + blockHeader).next = l.next
		return
	}
	fl, sl := class(at[block](b).size())
	h.free[fl][sl] = l.next
	if l.next == 0 {
		if h.sl[fl] &^= 1 << sl; h.sl[fl] == 0 {
			h.fl &^= 1 << fl
		}
	}
}

// usable returns how many bytes the payload at p holds.
func (h *heap) usable(p uintptr) uint64 {
	if p == 0 {
		return 0
	}
	return at[block](p - blockHeader).size()
}

// realloc changes the payload at p to n bytes, in place where it can. It
// returns 0, with p untouched, when the result would exceed the limit.
func (h *heap) realloc(p uintptr, n uint64) uintptr {
	if p == 0 {
		return h.malloc(n)
	}
	if n > maxRequest {
		h.crossings++
		return 0
	}
	b := p - blockHeader
	old, size := at[block](b).size(), roundPayload(n)
	if size <= old {
		h.live -= old
		h.trim(b, size)
		h.live += at[block](b).size()
		return p
	}
	if h.live-old+size+slack > h.limit {
		h.crossings++
		return 0
	}
	if h.growInPlace(b, size) {
		h.live -= old
		h.grow(at[block](b).size())
		return p
	}
	return h.move(p, old, size)
}

// growInPlace widens b over a free successor or the wilderness.
func (h *heap) growInPlace(b uintptr, size uint64) bool {
	if b == h.last {
		end := b + blockHeader + uintptr(size)
		if end > h.end {
			return false
		}
		at[block](b).set(size, false)
		h.brk = end
		return true
	}
	n := h.next(b)
	if !at[block](n).isFree() || at[block](b).size()+blockHeader+at[block](n).size() < size {
		return false
	}
	h.unlink(n)
	h.join(b, n)
	h.trim(b, size)
	return true
}

// move copies the payload at p, of old bytes, into a new block of size bytes.
// The limit was checked for the result; both blocks exist only for the copy.
func (h *heap) move(p uintptr, old, size uint64) uintptr {
	b := h.takeFree(size)
	if b == 0 {
		b = h.extend(size)
	}
	if b == 0 {
		h.crossings++
		return 0
	}
	q := b + blockHeader
	copy(bytesAt(q, uintptr(old)), bytesAt(p, uintptr(old)))
	h.live -= old
	h.grow(at[block](b).size())
	h.release(p - blockHeader)
	return q
}

// eachFree calls f with the bounds of the unused bytes of every free block,
// that is without its header and links.
func (h *heap) eachFree(f func(from, to uintptr)) {
	for fl := range h.free {
		for _, b := range h.free[fl] {
			for ; b != 0; b = at[links](b + blockHeader).next {
				p := b + blockHeader
				f(p+unsafe.Sizeof(links{}), p+uintptr(at[block](b).size()))
			}
		}
	}
}
