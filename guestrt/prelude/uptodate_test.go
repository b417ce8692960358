package prelude_test

import (
	"testing"

	"github.com/quoinhq/quoin/guestrt/prelude"
	"github.com/quoinhq/quoin/guestrt/prelude/gen/bundle"
)

func TestScriptIsUpToDate(t *testing.T) {
	want, err := bundle.Build("src")
	if err != nil {
		t.Fatal(err)
	}
	if prelude.JS != string(want) {
		t.Error("prelude.js differs from its sources; run go generate ./guestrt/prelude")
	}
}

func TestScriptIsSmall(t *testing.T) {
	const most = 30 << 10
	if len(prelude.JS) > most {
		t.Errorf("prelude.js has %d bytes, want at most %d", len(prelude.JS), most)
	}
}
