package quickjs

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

var testOrigin = origin{build: testBuild, template: [32]byte{9}, base: 1 << 40, reserve: 64 << 20}

func decoder(t testing.TB) *zstd.Decoder {
	t.Helper()
	d, err := newDecoder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func compress(t testing.TB, raw []byte) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll(raw, nil)
}

// sealed is an image around a compressed payload.
func sealed(o origin, l wire.Limits, used, raw uint64, payload []byte) []byte {
	b := append(make([]byte, imageHeader), payload...)
	sealImage(b, o, l, used, raw)
	return b
}

// unpacked opens an image and returns its pages.
func unpacked(b []byte, maxUsed uint64, dec *zstd.Decoder) (*image, map[int]*[pageWords]uint64, error) {
	m, err := openImage(b, testOrigin, maxUsed, dec)
	if err != nil {
		return nil, nil, err
	}
	pages := map[int]*[pageWords]uint64{}
	return m, pages, m.unpack(func(i int) *[pageWords]uint64 {
		pages[i] = new([pageWords]uint64)
		return pages[i]
	})
}

// smallImage has three pages, the second with two changed words.
func smallImage(t testing.TB) (img, raw []byte) {
	raw = []byte{pageSame, pageChanged, pageSame}
	var page, base [pageWords]uint64
	page[0], page[511] = 7, 1<<63
	raw = appendChanged(raw, &page, &base)
	return sealed(testOrigin, wire.Limits{MemoryBytes: 1 << 20, MaxDepth: 3}, 3*pageSize, uint64(len(raw)), compress(t, raw)), raw
}

// reseal makes the checksum of an altered image right again.
func reseal(img []byte) []byte {
	img = bytes.Clone(img)
	clear(img[offSum : offSum+sha256.Size])
	sum := sha256.Sum256(img)
	copy(img[offSum:], sum[:])
	return img
}

func TestImageRoundTrip(t *testing.T) {
	b, raw := smallImage(t)
	m, pages, err := unpacked(b, 1<<20, decoder(t))
	if err != nil {
		t.Fatal(err)
	}
	if m.used != 3*pageSize || !bytes.Equal(m.kinds, raw[:3]) || m.limits.MemoryBytes != 1<<20 || m.limits.MaxDepth != 3 {
		t.Errorf("decoded %+v", m)
	}
	if page := pages[1]; len(pages) != 1 || page[0] != 7 || page[5] != 0 || page[511] != 1<<63 {
		t.Errorf("%d pages: %v", len(pages), pages)
	}
}

func TestImageRefusals(t *testing.T) {
	good, raw := smallImage(t)
	le := binary.LittleEndian
	alter := func(f func(b []byte)) []byte {
		b := bytes.Clone(good)
		f(b)
		return reseal(b)
	}
	payload := func(raw []byte, declared int) []byte {
		return sealed(testOrigin, wire.Limits{}, 3*pageSize, uint64(declared), compress(t, raw))
	}
	foreign := testOrigin
	foreign.build[0]++
	for name, c := range map[string]struct {
		img  []byte
		want error
	}{
		"empty":            {nil, engine.ErrFormat},
		"text":             {[]byte("this is not an image at all, but a sentence"), engine.ErrFormat},
		"format":           {alter(func(b []byte) { b[offFormat]++ }), engine.ErrFormat},
		"header only":      {good[:imageHeader], engine.ErrCorrupt},
		"half a header":    {good[:100], engine.ErrCorrupt},
		"truncated":        {good[:len(good)-1], engine.ErrCorrupt},
		"appended":         {append(bytes.Clone(good), 0), engine.ErrCorrupt},
		"engine":           {alter(func(b []byte) { b[offEngine]++ }), engine.ErrForeignEngine},
		"template":         {alter(func(b []byte) { b[offTemplate]++ }), engine.ErrForeignEngine},
		"platform":         {alter(func(b []byte) { copy(b[offArch:], "plan9/mips\x00\x00") }), engine.ErrForeignArch},
		"base":             {alter(func(b []byte) { b[offBase+3]++ }), engine.ErrForeignArch},
		"reserve":          {alter(func(b []byte) { b[offReserve+3]++ }), engine.ErrForeignArch},
		"build":            {sealed(foreign, wire.Limits{}, pageSize, 1, compress(t, []byte{0})), engine.ErrForeignBuild},
		"too much heap":    {alter(func(b []byte) { le.PutUint64(b[offUsed:], 1<<30) }), engine.ErrTooLarge},
		"no heap":          {alter(func(b []byte) { le.PutUint64(b[offUsed:], 0) }), engine.ErrCorrupt},
		"part of a page":   {alter(func(b []byte) { le.PutUint64(b[offUsed:], pageSize+1) }), engine.ErrCorrupt},
		"raw too small":    {alter(func(b []byte) { le.PutUint64(b[offRaw:], 2) }), engine.ErrCorrupt},
		"raw too large":    {alter(func(b []byte) { le.PutUint64(b[offRaw:], 1<<40) }), engine.ErrCorrupt},
		"raw wrong":        {payload(raw, len(raw)+1), engine.ErrCorrupt},
		"raw short":        {payload(raw, len(raw)-1), engine.ErrCorrupt},
		"unknown kind":     {payload([]byte{0, 0, 2}, 3), engine.ErrCorrupt},
		"missing page":     {payload([]byte{0, 0, 1}, 3), engine.ErrCorrupt},
		"page cut short":   {payload(raw[:len(raw)-1], len(raw)-1), engine.ErrCorrupt},
		"bytes too many":   {payload(append(bytes.Clone(raw), 1), len(raw)+1), engine.ErrCorrupt},
		"payload no zstd":  {sealed(testOrigin, wire.Limits{}, 3*pageSize, uint64(len(raw)), raw), engine.ErrCorrupt},
		"decompressed big": {payload(make([]byte, 1<<20), len(raw)), engine.ErrCorrupt},
	} {
		if _, _, err := unpacked(c.img, 1<<20, decoder(t)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestEveryBitCounts: no flipped bit goes unnoticed.
func TestEveryBitCounts(t *testing.T) {
	good, _ := smallImage(t)
	dec := decoder(t)
	for i := range good {
		for bit := range 8 {
			b := bytes.Clone(good)
			b[i] ^= 1 << bit
			if _, _, err := unpacked(b, 1<<20, dec); err == nil {
				t.Fatalf("bit %d of byte %d was flipped and accepted", bit, i)
			}
		}
	}
}

// FuzzImage: no input makes the decoder panic, exceed its caps or write
// another page than the image has. Nothing is mapped.
func FuzzImage(f *testing.F) {
	img, _ := smallImage(f)
	f.Add(img, false)
	f.Add(img, true)
	f.Add(img[:imageHeader], true)
	f.Add([]byte(imageMagic), false)
	dec, err := newDecoder()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte, forge bool) {
		if forge && len(b) >= imageHeader {
			// A forger can compute checksums and knows the origin.
			b = bytes.Clone(b)
			binary.LittleEndian.PutUint64(b[offPayload:], uint64(len(b)-imageHeader))
			copy(b, img[:offSum])
			copy(b[offEngine:], img[offEngine:offUsed])
			b = reseal(b)
		}
		const maxUsed = 64 * pageSize
		m, pages, err := unpacked(b, maxUsed, dec)
		if err != nil {
			return
		}
		if m.used > maxUsed || len(m.kinds) != int(m.used/pageSize) || len(pages) > len(m.kinds) {
			t.Fatalf("%d bytes used in %d pages, %d written", m.used, len(m.kinds), len(pages))
		}
	})
}
