package quickjs

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"runtime"

	"github.com/klauspost/compress/zstd"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// imageMagic and imageFormat open every image. The format number changes when
// the header or the payload changes; other formats are refused.
const (
	imageMagic  = "QUOINVM\x00"
	imageFormat = 1
)

// An image is a fixed header and a zstd payload. The payload holds one kind
// byte for each used page of the arena, then the bytes of the pages that have
// any. All integers are little endian.
const (
	offMagic    = 0
	offFormat   = 8
	offSum      = 16 // SHA-256 of the image with these 32 bytes zero
	offEngine   = 48
	offArch     = 112
	offBuild    = 128
	offTemplate = 160
	offBase     = 192
	offReserve  = 200
	offUsed     = 208
	offRaw      = 216 // payload bytes before compression
	offPayload  = 224 // payload bytes after it
	offMemory   = 232
	offValue    = 240
	offNodes    = 244
	offDepth    = 248
	offOutput   = 252
	imageHeader = 256
)

// The kinds of a page in an image.
const (
	pageSame    = 0 // as in the template, or free
	pageChanged = 1 // a bitmap of changed 8-byte words, then these words

	// zstdWindow covers the repeats there are between pages and keeps the memory
	// of encoder and decoder small.
	zstdWindow = 1 << 20

	pageWords  = pageSize / 8
	pageBitmap = pageWords / 8
)

// origin is what must be equal on both sides of an image.
type origin struct {
	build, template [32]byte
	base, reserve   uint64
}

// image is an image with a verified envelope. Its pages are unpacked one at a
// time: what a heap needs must not be needed a second time next to it.
type image struct {
	limits wire.Limits
	used   uint64    // bytes of the arena in use, a multiple of the page size
	kinds  []byte    // one for each used page
	pages  io.Reader // bitmap and words of every changed page, in order
	size   uint64    // bytes of pages
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// sealImage fills the header of an image, for which b has room before the
// compressed payload.
func sealImage(b []byte, o origin, l wire.Limits, used, raw uint64) {
	copy(b[offMagic:], imageMagic)
	le := binary.LittleEndian
	le.PutUint32(b[offFormat:], imageFormat)
	copy(b[offEngine:offArch], engineID)
	copy(b[offArch:offBuild], platform())
	copy(b[offBuild:], o.build[:])
	copy(b[offTemplate:], o.template[:])
	le.PutUint64(b[offBase:], o.base)
	le.PutUint64(b[offReserve:], o.reserve)
	le.PutUint64(b[offUsed:], used)
	le.PutUint64(b[offRaw:], raw)
	le.PutUint64(b[offPayload:], uint64(len(b)-imageHeader))
	le.PutUint64(b[offMemory:], l.MemoryBytes)
	le.PutUint32(b[offValue:], l.MaxValueBytes)
	le.PutUint32(b[offNodes:], l.MaxNodes)
	le.PutUint32(b[offDepth:], l.MaxDepth)
	le.PutUint32(b[offOutput:], l.MaxOutputItems)
	sum := sha256.Sum256(b)
	copy(b[offSum:], sum[:])
}

// openImage verifies an image from an untrusted source against o, as far as that
// can be done without its pages. maxUsed caps the arena bytes it may describe. It
// allocates one byte a page. The decoder is the image's until unpack returns.
func openImage(b []byte, o origin, maxUsed uint64, dec *zstd.Decoder) (*image, error) {
	if err := checkEnvelope(b); err != nil {
		return nil, err
	}
	if err := checkOrigin(b, o); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	used, raw := le.Uint64(b[offUsed:]), le.Uint64(b[offRaw:])
	if used > maxUsed {
		return nil, fmt.Errorf("quickjs: restore: %w: it describes %d bytes of heap, at most %d are allowed", engine.ErrTooLarge, used, maxUsed)
	}
	pages := used / pageSize
	if used == 0 || used%pageSize != 0 || raw < pages || raw > pages*(1+pageBitmap+pageSize) {
		return nil, fmt.Errorf("quickjs: restore: %w: impossible sizes", engine.ErrCorrupt)
	}
	img := &image{used: used, kinds: make([]byte, pages), pages: dec, size: raw - pages, limits: readLimits(b)}
	if err := dec.Reset(bytes.NewReader(b[imageHeader:])); err != nil {
		return nil, damaged("payload", err)
	}
	if _, err := io.ReadFull(dec, img.kinds); err != nil {
		return nil, damaged("payload", err)
	}
	for i, kind := range img.kinds {
		if kind > pageChanged {
			return nil, fmt.Errorf("quickjs: restore: %w: page %d", engine.ErrCorrupt, i)
		}
	}
	return img, nil
}

func damaged(what string, err error) error {
	return fmt.Errorf("quickjs: restore: %w: %s: %v", engine.ErrCorrupt, what, err)
}

func readLimits(b []byte) wire.Limits {
	le := binary.LittleEndian
	return wire.Limits{
		MemoryBytes:    le.Uint64(b[offMemory:]),
		MaxValueBytes:  le.Uint32(b[offValue:]),
		MaxNodes:       le.Uint32(b[offNodes:]),
		MaxDepth:       le.Uint32(b[offDepth:]),
		MaxOutputItems: le.Uint32(b[offOutput:]),
	}
}

// checkEnvelope verifies format, length and checksum, in this order.
func checkEnvelope(b []byte) error {
	if len(b) < offSum || string(b[:len(imageMagic)]) != imageMagic {
		return fmt.Errorf("quickjs: restore: %w: no image", engine.ErrFormat)
	}
	le := binary.LittleEndian
	if f := le.Uint32(b[offFormat:]); f != imageFormat {
		return fmt.Errorf("quickjs: restore: %w: version %d, this build reads %d", engine.ErrFormat, f, imageFormat)
	}
	if len(b) < imageHeader || le.Uint64(b[offPayload:]) != uint64(len(b)-imageHeader) {
		return fmt.Errorf("quickjs: restore: %w: truncated", engine.ErrCorrupt)
	}
	h := sha256.New()
	h.Write(b[:offSum])
	h.Write(make([]byte, sha256.Size))
	h.Write(b[offSum+sha256.Size:])
	if !bytes.Equal(h.Sum(nil), b[offSum:offSum+sha256.Size]) {
		return fmt.Errorf("quickjs: restore: %w: checksum mismatch", engine.ErrCorrupt)
	}
	return nil
}

// checkOrigin verifies that this process can continue the image.
func checkOrigin(b []byte, o origin) error {
	le := binary.LittleEndian
	if id := field(b[offEngine:offArch]); id != engineID {
		return fmt.Errorf("quickjs: restore: %w: %q, not %q", engine.ErrForeignEngine, id, engineID)
	}
	if a := field(b[offArch:offBuild]); a != platform() {
		return fmt.Errorf("quickjs: restore: %w: %q, not %q", engine.ErrForeignArch, a, platform())
	}
	if !bytes.Equal(b[offBuild:offTemplate], o.build[:]) {
		return fmt.Errorf("quickjs: restore: %w: %x, not %x", engine.ErrForeignBuild, b[offBuild:offBuild+6], o.build[:6])
	}
	if base, reserve := le.Uint64(b[offBase:]), le.Uint64(b[offReserve:]); base != o.base || reserve != o.reserve {
		return fmt.Errorf("quickjs: restore: %w: heap at %#x+%#x, not %#x+%#x", engine.ErrForeignArch, base, reserve, o.base, o.reserve)
	}
	if !bytes.Equal(b[offTemplate:offBase], o.template[:]) {
		return fmt.Errorf("quickjs: restore: %w: another prelude", engine.ErrForeignEngine)
	}
	return nil
}

// field reads a zero-padded name.
func field(b []byte) string { return string(bytes.TrimRight(b, "\x00")) }

// unpack writes every changed page over what page returns for its number. After
// an error some are written.
func (m *image) unpack(page func(int) *[pageWords]uint64) error {
	var b [pageBitmap + pageSize]byte
	left := m.size
	for i, kind := range m.kinds {
		if kind == pageSame {
			continue
		}
		if _, err := io.ReadFull(m.pages, b[:pageBitmap]); err != nil {
			return damaged("payload", err)
		}
		n := changedSize(b[:])
		if _, err := io.ReadFull(m.pages, b[pageBitmap:n]); err != nil {
			return damaged("payload", err)
		}
		if uint64(n) > left {
			return fmt.Errorf("quickjs: restore: %w: it has more pages than it says", engine.ErrCorrupt)
		}
		left -= uint64(n)
		applyChanged(page(i), b[:n])
	}
	if _, err := io.ReadFull(m.pages, b[:1]); err != io.EOF || left != 0 {
		return fmt.Errorf("quickjs: restore: %w: its payload has another length than it says", engine.ErrCorrupt)
	}
	return nil
}

// changedSize is the length of the changed page at the start of b, which holds
// a bitmap at least.
func changedSize(b []byte) int {
	n := 0
	for i := 0; i < pageBitmap; i += 8 {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(b[i:]))
	}
	return pageBitmap + 8*n
}

// appendChanged appends what page differs in from base, or nothing when they
// are equal.
func appendChanged(out []byte, page, base *[pageWords]uint64) []byte {
	start := len(out)
	var bitmap [pageBitmap]byte
	for i := range page {
		if page[i] == base[i] {
			continue
		}
		if len(out) == start {
			out = append(out, bitmap[:]...)
		}
		bitmap[i/8] |= 1 << (i % 8)
		out = binary.LittleEndian.AppendUint64(out, page[i])
	}
	if len(out) > start {
		copy(out[start:], bitmap[:])
	}
	return out
}

// applyChanged writes the changed page b, which is as long as its bitmap says,
// over page.
func applyChanged(page *[pageWords]uint64, b []byte) {
	bitmap, data := b[:pageBitmap], b[pageBitmap:]
	for i, m := range bitmap {
		for ; m != 0; m &= m - 1 {
			page[i*8+bits.TrailingZeros8(m)] = binary.LittleEndian.Uint64(data)
			data = data[8:]
		}
	}
}

// newDecoder makes a decoder that needs little memory and no goroutine.
func newDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
}
