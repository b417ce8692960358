package prelude

import (
	"encoding/json"
	"fmt"
	"testing"

	"modernc.org/quickjs"
)

// report is the document that drain returns.
type report struct {
	S int               `json:"s"`
	V json.RawMessage   `json:"v"`
	E *failure          `json:"e"`
	O []json.RawMessage `json:"o"`
	R []json.RawMessage `json:"r"`
	P int               `json:"p"`
	T int64             `json:"t"`
}

type failure struct{ Name, Message, Stack, Kind string }

// driver makes native in JavaScript and keeps entry out of the guest's reach.
// The engine's rejection tracker has no counterpart in this VM: a test reports
// rejections through the global of the same name.
const driver = `((factory) => {
	const files = JSON.parse(__files), now = [];
	const rejections = { __proto__: null, length: 0 };
	const note = (kind, promise, reason) => {
		rejections[rejections.length] = kind; rejections[rejections.length + 1] = promise;
		rejections[rejections.length + 2] = reason; rejections.length += 3;
	};
	const own = Object.hasOwn, apply = Reflect.apply, evaluate = eval;
	const file = (path) => { reads[path] = (own(reads, path) ? reads[path] : 0) + 1; return own(files, path) ? files[path] : undefined };
	const reads = { __proto__: null }, stringify = JSON.stringify;
	const entry = factory({ file, rejections });
	globalThis.__rejection = note;
	globalThis.__reads = (path) => own(reads, path) ? reads[path] : 0;
	return (op, a, b, c) => {
		switch (op) {
		case "start": return entry.start(a, evaluate(b));
		case "settle": return entry.settle(a, b, c);
		case "fire": return entry.fire();
		case "drain": return entry.drain();
		}
	};
})`

// guest is one VM with a started prelude.
type guest struct {
	t     *testing.T
	vm    *quickjs.VM
	drive quickjs.Value
}

func newGuest(t *testing.T, files map[string]string) *guest {
	t.Helper()
	vm, err := quickjs.NewVM()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := vm.Close(); err != nil {
			t.Errorf("closing the VM: %v", err)
		}
	})
	text, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	setup := fmt.Sprintf("globalThis.__files = %q; var __drive = %s(%s); delete globalThis.__files; __drive", text, driver, JS)
	drive, err := vm.EvalValue(setup, quickjs.EvalGlobal)
	if err != nil {
		t.Fatalf("evaluating the prelude: %v", err)
	}
	return &guest{t: t, vm: vm, drive: drive}
}
