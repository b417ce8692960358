package main

import (
	"strings"
	"testing"
)

func TestRewrite(t *testing.T) {
	const head = "package p\n\n"
	for _, c := range []struct{ name, in, want string }{
		{"a value that stays in its frame becomes a variable, and the frame goes",
			"func f(tls *libc.TLS, v TJSValue) (r int32) {\n" +
				"\tbp := tls.Alloc(16)\n\tdefer tls.Free(16)\n" +
				"\t*(*TJSValue)(unsafe.Pointer(bp)) = v\n" +
				"\treturn int32((*(*TJSValue)(unsafe.Add(nil, bp))).Ftag) + int32(*(*uintptr)(unsafe.Pointer(bp)))\n}\n",
			"func f(tls *libc.TLS, v TJSValue) (r int32) {\n" +
				"\t_ = tls; var slot0 TJSValue; _ = slot0\n\t\n" +
				"\tslot0 = v\n" +
				"\treturn int32((slot0).Ftag) + int32(uintptr(slot0.Fu.Fuint641))\n}\n"},
		{"a slot whose address goes elsewhere stays, and the frame ends before each return",
			"func f(tls *libc.TLS, v TJSValue) (r int32) {\n" +
				"\tbp := tls.Alloc(40)\n\tdefer tls.Free(40)\n" +
				"\t*(*TJSValue)(unsafe.Pointer(bp)) = v\n" +
				"\t*(*TJSValue)(unsafe.Pointer(bp + 16)) = v\n" +
				"\tif libc.BoolInt64(!!(g(bp) != 0)) != 0 {\n\t\treturn r\n\t}\n" +
				"\treturn h(*(*TJSValue)(unsafe.Pointer(bp + 16)))\n}\n",
			"func f(tls *libc.TLS, v TJSValue) (r int32) {\n" +
				"\tbp := frame(48); var slot16 TJSValue; _ = slot16\n\t\n" +
				"\t*(*TJSValue)(unsafe.Pointer(bp)) = v\n" +
				"\tslot16 = v\n" +
				"\tif (!!(g(bp) != 0)) {\n\t\t{ unframe(bp); return r }\n\t}\n" +
				"\t{ r = h(slot16); unframe(bp); return r }\n}\n"},
		{"what overlaps with another slot, is written in part or indexed stays",
			"func f(tls *libc.TLS, v TJSValue, i int) {\n" +
				"\tbp := tls.Alloc(80)\n\tdefer tls.Free(80)\n" +
				"\t*(*TJSValue)(unsafe.Pointer(bp + 8)) = v\n" +
				"\t*(*uintptr)(unsafe.Pointer(bp + 16)) = 1\n" +
				"\t*(*TJSValue)(unsafe.Pointer(bp + 32)) = v\n" +
				"\t*(*TJSValue)(unsafe.Pointer(bp + 32 + uintptr(i)*16)) = v\n" +
				"\t(*(*TJSValue)(unsafe.Pointer(bp + 64))).Ftag = *(*int64)(unsafe.Pointer(&(*(*TJSValue)(unsafe.Pointer(bp + 64))).Fu))\n}\n",
			"func f(tls *libc.TLS, v TJSValue, i int) {\n" +
				"\tbp := frame(80)\n\t\n" +
				"\t*(*TJSValue)(unsafe.Pointer(bp + 8)) = v\n" +
				"\t*(*uintptr)(unsafe.Pointer(bp + 16)) = 1\n" +
				"\t*(*TJSValue)(unsafe.Pointer(bp + 32)) = v\n" +
				"\t*(*TJSValue)(unsafe.Pointer(bp + 32 + uintptr(i)*16)) = v\n" +
				"\t(*(*TJSValue)(unsafe.Pointer(bp + 64))).Ftag = *(*int64)(unsafe.Pointer(&(*(*TJSValue)(unsafe.Pointer(bp + 64))).Fu))\nunframe(bp)\n}\n"},
		{"alloca lies above the frame",
			"func f(tls *libc.TLS, n uint64) {\n" +
				"\ttls.AllocaEntry()\n\tdefer tls.AllocaExit()\n\tg(libc.X__builtin_alloca(tls, n))\n}\n",
			"func f(tls *libc.TLS, n uint64) {\n" +
				"\tbp := frame(0)\n\t\n\tg(alloca(n))\nunframe(bp)\n}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := rewrite([]byte(head + c.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != head+c.want {
				t.Errorf("got\n%s\nwant\n%s", got, head+c.want)
			}
		})
	}
}

func TestRewriteRefusals(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"package p\nfunc f() {}\n", "no function has a frame"},
		{"package p\nfunc f(tls *libc.TLS) {\n\tbp := tls.Alloc(16)\n\tg(bp)\n}\n", "does not give it back"},
		{"package p\nfunc f(tls *libc.TLS) {\n\tbp := tls.Alloc(16)\n\tdefer tls.Free(16)\n\tdefer g(bp)\n}\n", "defers"},
		{"package p\nfunc f(tls *libc.TLS) {\n\tbp := tls.Alloc(16)\n\tdefer tls.Free(16)\n\tg(func() { h(bp) })\n}\n", "function literal"},
		{"package p\nfunc", "expected"},
	} {
		if _, err := rewrite([]byte(c.in)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.in, err, c.want)
		}
	}
}
