package quickjs

import (
	"testing"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
)

// TestDeviations pins what both engines do otherwise than the language says, which
// docs/engines.md lists: an engine that is mended is noticed.
func TestDeviations(t *testing.T) {
	e := openTest(t)
	for _, tc := range []struct{ program, right, got string }{
		{"const a = [`(?<y>A)`]; for (let i = 0; i < 255; i++) a.push(`q` + i); a.push(`(?<y>B)`); return new RegExp(a.join(`|`)).exec(`B`).groups.y", `"B"`, ``},
		{"const b = new ArrayBuffer(3, {maxByteLength: 9}), t = new Uint8Array(b); return String(t.at({valueOf() { b.resize(8); return 5 }}))", `"undefined"`, `"0"`},
		{"return String(2 ** -24)", `"5.960464477539063e-8"`, `"5.9604644775390625e-8"`},
		{"const seen = []; async function* g() { try { yield 1 } finally { await null; seen.push(`cleanup`) } } for await (const x of g()) break; seen.push(`after`); await null; await null; return seen", `["cleanup","after"]`, `["after","cleanup"]`},
	} {
		r := run(t, e, engine.Options{}, tc.program)
		if string(r.Value) != tc.got {
			t.Errorf("%s\ngave %s %+v, it used to give %s, and %s is right: correct docs/engines.md", tc.program, r.Value, r.Err, tc.got, tc.right)
		}
	}
}
