package guestrt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/wire"
)

// TestTheWorkerIsOfTheEngineAskedFor: whichever engine is configured, the worker has to
// say that it runs it, and another one is refused rather than used.
func TestTheWorkerIsOfTheEngineAskedFor(t *testing.T) {
	byDefault, native := workersOfBothEngines(t)
	both := Config{GuestPath: byDefault, NativePath: native}
	for _, c := range []struct {
		name         string
		asked, found Engine
		config       Config
	}{
		{"without a choice", "", EngineDefault, both},
		{"without a choice, a worker of the native engine", "", EngineNative, Config{GuestPath: native}},
		{"without a choice and without a path", "", EngineNative, Config{NativePath: native}},
		{"default", EngineDefault, EngineDefault, both},
		{"native", EngineNative, EngineNative, both},
		{"auto", EngineAuto, EngineNative, both},
		{"auto without a native worker", EngineAuto, EngineDefault, Config{GuestPath: byDefault}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Engine, c.config.Prepared = c.asked, 1
			skipIfNative(t, c.config)
			p := newPool(t, c.config)
			e, id := p.Engine()
			if e != c.found || EngineOf(id) != c.found {
				t.Errorf("the pool runs %s (%s), want %s", e, id, c.found)
			}
			w := acquire(t, p, "s")
			defer p.Release(w)
			if w.EngineID() != id {
				t.Errorf("the worker runs %s, its pool %s", w.EngineID(), id)
			}
			wantValue(t, start(t, w, js(`return 6 * 7`), nil), `42`)
		})
	}
	for _, c := range []struct {
		name   string
		config Config
		words  []string
	}{
		{"the other's worker for native", Config{Engine: EngineNative, NativePath: byDefault}, []string{byDefault, "the default engine", "guest.nativePath", "guest.path"}},
		{"the other's worker for default", Config{Engine: EngineDefault, GuestPath: native}, []string{native, "the native engine", "guest.nativePath", "guest.path"}},
		{"the other's worker for auto", Config{Engine: EngineAuto, GuestPath: byDefault, NativePath: byDefault}, []string{"the default engine"}},
		{"a native worker that is not there", Config{Engine: EngineNative, NativePath: "nowhere"}, []string{"nowhere", "guest.nativePath", "quoin-native -o nowhere"}},
		{"auto with one that is not there", Config{Engine: EngineAuto, GuestPath: byDefault, NativePath: "nowhere"}, []string{"nowhere", "guest.nativePath"}},
		{"no native worker", Config{Engine: EngineNative, GuestPath: byDefault}, []string{"quoin-guest-native", "make native", "quoin-native -o ", "guest.nativePath", `guest.engine to "default"`}},
		{"another word", Config{Engine: "fast"}, []string{`"fast"`, `"default"`, `"native"`, `"auto"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			skipIfNative(t, c.config)
			p, err := NewPool(context.Background(), c.config)
			if err == nil {
				p.Close()
				t.Fatal("the pool started")
			}
			wantEnding(t, err, wire.CodeRuntimeUnavailable, "")
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

// skipIfNative skips a test of no native worker in a test binary that is one.
func skipIfNative(t *testing.T, c Config) {
	if nativeBuild && c.NativePath == "" && (c.Engine == EngineNative || c.Engine == EngineAuto) {
		t.Skip("this test binary has the native engine and serves as its worker")
	}
}

// TestInspectNamesTheEngine.
func TestInspectNamesTheEngine(t *testing.T) {
	byDefault, native := workersOfBothEngines(t)
	for _, e := range []Engine{EngineDefault, EngineNative} {
		in, err := Inspect(context.Background(), Config{Engine: e, GuestPath: byDefault, NativePath: native})
		if err != nil || in.Err != nil {
			t.Fatal(errors.Join(err, in.Err))
		}
		if in.Engine != e || EngineOf(in.EngineID) != e {
			t.Errorf("engine %s, id %s, want %s", in.Engine, in.EngineID, e)
		}
	}
}

// TestOnlyPlainEngineIDsAreTaken: what a worker calls its engine goes into labels,
// records and logs.
func TestOnlyPlainEngineIDsAreTaken(t *testing.T) {
	b := &binary{path: "/bin/worker", kind: defaultWorker}
	for _, id := range []string{"", "quickjs 1", "quickjs\n", "quickjs\"", "quickjsé", strings.Repeat("q", maxEngineID+1)} {
		if err := b.checkEngine(&wire.Ready{EngineID: id}); err == nil || !strings.Contains(err.Error(), "/bin/worker") {
			t.Errorf("%q: %v", id, err)
		}
	}
	if err := b.checkEngine(&wire.Ready{EngineID: "quickjs-2026-06-04/libquickjs-0.14.0/arena-1"}); err != nil {
		t.Error(err)
	}
}

// workersOfBothEngines returns a worker of each engine. The native engine's worker is
// the default's under another id, so that no C compiler is needed.
func workersOfBothEngines(t *testing.T) (byDefault, native string) {
	t.Helper()
	byDefault, err := hosttest.DefaultGuest()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	native = filepath.Join(dir, nativeWorker.name)
	err = errors.Join(hosttest.RenamedGuest(native), os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	return byDefault, native
}
