//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

import (
	"unicode/utf8"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"

	"github.com/quoinhq/quoin/guestrt/internal/engine/weburl"
)

// hookExtra is native.extra(name): the value of a script that the prelude brings
// along for a guest that needs it, or of a saved program.
func hookExtra(tls *libc.TLS, ctx uintptr, this lib.TJSValue, argc int32, argv uintptr) lib.TJSValue {
	if running == nil {
		return raw(undefined)
	}
	j := running.js
	name, ok := j.text(argument(argv, 0), maxPath)
	if !ok {
		return raw(undefined)
	}
	src, ok := running.script(name)
	if !ok {
		return raw(undefined)
	}
	return raw(j.evalPrelude(src, preludeName+"/"+name))
}

// hookRandom is native.random(buffer, offset, length).
func hookRandom(tls *libc.TLS, ctx uintptr, this lib.TJSValue, argc int32, argv uintptr) lib.TJSValue {
	part, answer := bufferPart(tls, ctx, argv)
	if part == nil {
		return raw(answer)
	}
	running.fillRandom(part)
	return raw(undefined)
}

// hookUTF8 is native.utf8(buffer, offset, length).
func hookUTF8(tls *libc.TLS, ctx uintptr, this lib.TJSValue, argc int32, argv uintptr) lib.TJSValue {
	part, answer := bufferPart(tls, ctx, argv)
	if part == nil || !utf8.Valid(part) {
		return raw(answer)
	}
	// The bytes stay where they are: the caller holds the buffer.
	return lib.XJS_NewStringLen(tls, ctx, uintptr(unsafe.Pointer(&part[0])), lib.Tsize_t(len(part)))
}

// bufferPart is the part of a buffer that a hook's arguments name: buffer, offset,
// length. It is nil if the guest has no such function, and the hook then answers so.
func bufferPart(tls *libc.TLS, ctx, argv uintptr) (part []byte, answer value) {
	offset, length := argument(argv, 1), argument(argv, 2)
	if running == nil || offset.tag != tagInt || length.tag != tagInt {
		return nil, undefined
	}
	bp := tls.Alloc(8)
	defer tls.Free(8)
	p := lib.XJS_GetArrayBuffer(tls, ctx, bp, raw(argument(argv, 0)))
	if p == 0 {
		return nil, exception
	}
	from, n, size := int64(int32(offset.bits)), int64(int32(length.bits)), int64(*at[lib.Tsize_t](bp))
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
		return raw(undefined)
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
			return raw(exception)
		}
		args[i] = &s
	}
	parts, ok := urlParts(args)
	if !ok {
		return raw(undefined)
	}
	return raw(v.js.newString(parts))
}
