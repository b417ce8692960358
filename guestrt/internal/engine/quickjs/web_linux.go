//go:build linux && (amd64 || arm64)

package quickjs

import (
	"crypto/sha256"
	"encoding/json"
	"math/rand/v2"
	"unicode/utf8"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"

	"github.com/quoinhq/quoin/guestrt/internal/engine/weburl"
	"github.com/quoinhq/quoin/guestrt/internal/prelude"
)

// hookExtra is native.extra(name): the value of a script that the prelude brings
// along for a guest that needs it.
func hookExtra(tls *libc.TLS, ctx uintptr, this lib.TJSValue, argc int32, argv uintptr) lib.TJSValue {
	if running == nil {
		return undefined
	}
	j := running.js
	name, ok := j.text(argument(argv, 0), maxPath)
	if !ok {
		return undefined
	}
	src, ok := prelude.Extra(name)
	if !ok {
		return undefined
	}
	return j.evalPrelude(src, preludeName+"/"+name)
}

// newRandom makes the source of a VM's crypto object. It is no part of an image:
// a guest that is restored draws from a new seed.
func newRandom(seed [32]byte) *rand.ChaCha8 {
	return rand.NewChaCha8(sha256.Sum256(append([]byte("crypto\x00"), seed[:]...)))
}

// hookRandom is native.random(buffer, offset, length).
func hookRandom(tls *libc.TLS, ctx uintptr, this lib.TJSValue, argc int32, argv uintptr) lib.TJSValue {
	part, answer := bufferPart(tls, ctx, argv)
	if part == nil {
		return answer
	}
	if _, err := running.random.Read(part); err != nil {
		panic("quickjs: ChaCha8 cannot fail: " + err.Error())
	}
	return undefined
}

// hookUTF8 is native.utf8(buffer, offset, length).
func hookUTF8(tls *libc.TLS, ctx uintptr, this lib.TJSValue, argc int32, argv uintptr) lib.TJSValue {
	part, answer := bufferPart(tls, ctx, argv)
	if part == nil || !utf8.Valid(part) {
		return answer
	}
	// The bytes stay where they are: the caller holds the buffer.
	return lib.XJS_NewStringLen(tls, ctx, uintptr(unsafe.Pointer(&part[0])), lib.Tsize_t(len(part)))
}

// bufferPart is the part of a buffer that a hook's arguments name: buffer, offset,
// length. It is nil if the guest has no such function, and the hook then answers so.
func bufferPart(tls *libc.TLS, ctx, argv uintptr) (part []byte, answer lib.TJSValue) {
	offset, length := argument(argv, 1), argument(argv, 2)
	if running == nil || int32(offset.Ftag) != lib.EJS_TAG_INT || int32(length.Ftag) != lib.EJS_TAG_INT {
		return nil, undefined
	}
	bp := tls.Alloc(8)
	defer tls.Free(8)
	p := lib.XJS_GetArrayBuffer(tls, ctx, bp, argument(argv, 0))
	if p == 0 {
		return nil, exception
	}
	from, n, size := int64(int32(offset.Fu.Fuint641)), int64(int32(length.Fu.Fuint641)), int64(*at[lib.Tsize_t](bp))
	if from < 0 || n <= 0 || from+n > size {
		return nil, undefined
	}
	return bytesAt(p+uintptr(from), uintptr(n)), undefined
}

// hookURL is native.url(href, base, part, value): a JSON array of the parts of a
// URL, or undefined.
func hookURL(tls *libc.TLS, ctx uintptr, this lib.TJSValue, argc int32, argv uintptr) lib.TJSValue {
	v := running
	if v == nil {
		return undefined
	}
	var args [4]*string
	for i := range args {
		a := argument(argv, i)
		if !isString(a) {
			continue
		}
		// One byte more than may be: what is cut off must not be taken for whole.
		s, ok := v.js.text(a, weburl.MaxBytes+4)
		if !ok {
			return exception
		}
		args[i] = &s
	}
	if args[0] == nil {
		return undefined
	}
	var parts weburl.Parts
	var ok bool
	if args[2] != nil && args[3] != nil {
		parts, ok = weburl.Change(*args[0], *args[2], *args[3])
	} else {
		parts, ok = weburl.Parse(*args[0], args[1])
	}
	if !ok {
		return undefined
	}
	text, err := json.Marshal(parts)
	if err != nil {
		panic("quickjs: strings cannot be encoded: " + err.Error())
	}
	return v.js.newString(text)
}
