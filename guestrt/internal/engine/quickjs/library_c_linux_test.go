//go:build linux && (amd64 || arm64) && quickjs_c

package quickjs

import (
	"testing"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
)

// computedRead is what the library says of a read of undefined["b"].
const computedRead = "cannot read property 'b' of undefined"

// otherAnswers are the answers of this library that differ from the oracle's.
const otherAnswers = "diff/native.golden"

// wantMemory is a panic of our own: the library takes no memory of the system's.
func wantMemory(js) { panic(engine.ErrMemory) }

// TestClassesOfTheFlagV pins what docs/engines.md says of them.
func TestClassesOfTheFlagV(t *testing.T) {
	r := run(t, openTest(t), engine.Options{}, "return [/[\\p{L}]/v.test(`A`), /\\p{L}/v.test(`A`), /\\p{L}/u.test(`A`)]")
	if string(r.Value) != "[false,false,true]" {
		t.Errorf("got %s %+v", r.Value, r.Err)
	}
}
