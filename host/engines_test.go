package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/hosttest"
)

func defaultGuest(t *testing.T) string {
	t.Helper()
	path, err := hosttest.DefaultGuest()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// renamedGuest is the worker of the default engine under the name of the native one.
func renamedGuest(t *testing.T) string {
	t.Helper()
	path := filepath.Join(mkdir(t), "quoin-guest-native")
	if err := hosttest.RenamedGuest(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantEngine checks what a result says of the engine that ran it.
func wantEngine(t *testing.T, r *host.Result, name, idStart string) {
	t.Helper()
	if e := r.Telemetry.Engine; e.Name != name || !strings.HasPrefix(e.ID, idStart) || e.ID == idStart {
		t.Errorf("engine %+v, want %s, %s...: %s", e, name, idStart, show(r))
	}
}

const (
	idOfDefault = "quickjs-2"
	idOfNative  = "quickjs-ng-"
	twoYields   = `const kept = 40; await yield_control(); await yield_control(); return kept + 2`
)

// TestARunStaysOnItsEngine: a host runs new runs on the engine of its configuration. A run
// that the other engine has suspended resumes on that engine, as long as its worker is here.
func TestARunStaysOnItsEngine(t *testing.T) {
	t.Parallel()
	ctx, dir, native := context.Background(), mkdir(t), renamedGuest(t)
	with := func(e host.EngineChoice) *host.Host {
		return start(t, host.Config{Store: openState(t, dir), Guests: host.GuestConfig{Engine: e, Path: defaultGuest(t), NativePath: native}})
	}
	suspend := func(h *host.Host) (id string) {
		r := exec(h, twoYields)
		wantEngine(t, r, string(h.Guests().Engine.Name), idStartOf(h))
		return wantWaiting(t, r, codemode.ReasonYield)
	}
	first := with(host.EngineNative)
	if e := first.Guests().Engine; e.Name != "native" || !strings.HasPrefix(e.ID, idOfNative) {
		t.Errorf("the host runs %+v", e)
	}
	ofNative := suspend(first)
	shut(t, first)

	second := with(host.EngineDefault)
	ofDefault := suspend(second)
	r := second.Wait(ctx, me, ofNative)
	wantWaiting(t, r, codemode.ReasonYield)
	wantEngine(t, r, "native", idOfNative)
	list, err := second.Runs().All(ctx)
	if err != nil || len(list) != 2 || list[0].Foreign || list[1].Foreign || list[0].GuestEngine == list[1].GuestEngine {
		t.Errorf("%+v, %v", list, err)
	}
	shut(t, second)

	third := with(host.EngineAuto)
	if e := third.Guests().Engine; e.Name != "native" {
		t.Errorf("the host runs %+v", e)
	}
	r = third.Wait(ctx, me, ofDefault)
	wantWaiting(t, r, codemode.ReasonYield)
	wantEngine(t, r, "default", idOfDefault)
	r = third.Wait(ctx, me, ofDefault)
	wantValue(t, r, `42`)
	wantEngine(t, r, "default", idOfDefault)
	r = third.Wait(ctx, me, ofNative)
	wantValue(t, r, `42`)
	wantEngine(t, r, "native", idOfNative)
}

func idStartOf(h *host.Host) string {
	if h.Guests().Engine.Name == "native" {
		return idOfNative
	}
	return idOfDefault
}

func shut(t *testing.T, h *host.Host) {
	t.Helper()
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestARunWhoseEngineIsGone: it is refused with what to do, and kept. It resumes when the
// worker is there, also on a host that has looked for the worker before.
func TestARunWhoseEngineIsGone(t *testing.T) {
	t.Parallel()
	ctx, dir, native := context.Background(), mkdir(t), renamedGuest(t)
	first := start(t, host.Config{Store: openState(t, dir), Guests: host.GuestConfig{Engine: host.EngineNative, NativePath: native}})
	id := wantWaiting(t, exec(first, twoYields), codemode.ReasonYield)
	shut(t, first)

	second := start(t, host.Config{Store: openState(t, dir), Guests: host.GuestConfig{Path: defaultGuest(t)}})
	r := second.Wait(ctx, me, id)
	wantFailure(t, r, codemode.CodeUnavailable, codemode.ReasonEngineUnavailable, codemode.PhaseHost)
	for _, words := range []string{"the native engine has suspended it (" + idOfNative, "no worker of that engine", "kept until", "quoin-guest-native", "make native", "guest.nativePath"} {
		if !strings.Contains(r.Error, words) {
			t.Errorf("%q does not say %q", r.Error, words)
		}
	}
	wantEngine(t, r, "native", idOfNative)
	list, err := second.Runs().All(ctx)
	if err != nil || len(list) != 1 || !list[0].Foreign || !strings.HasPrefix(list[0].GuestEngine, idOfNative) {
		t.Errorf("%+v, %v", list, err)
	}

	// The worker is put where the host looks for it.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(filepath.Dir(self), "quoin-guest-native")
	if err := os.Symlink(native, place); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(place)
	wantWaiting(t, second.Wait(ctx, me, id), codemode.ReasonYield)
	wantValue(t, second.Wait(ctx, me, id), `42`)
}

// TestTheNativeEngineIsNotReplaced: a host that is to run the native engine does not start
// without its worker, nor with a worker of the other.
func TestTheNativeEngineIsNotReplaced(t *testing.T) {
	t.Parallel()
	built := defaultGuest(t)
	for _, c := range []struct {
		name   string
		guests host.GuestConfig
		words  []string
	}{
		{"no worker", host.GuestConfig{Engine: host.EngineNative}, []string{"make native", `guest.engine to "default"`}},
		{"a worker of the other", host.GuestConfig{Engine: host.EngineNative, NativePath: built}, []string{"runs the default engine", built}},
		{"auto with a worker of the other", host.GuestConfig{Engine: host.EngineAuto, NativePath: built}, []string{"runs the default engine", built}},
		{"a second worker that is not there", host.GuestConfig{Path: built, NativePath: "nowhere"}, []string{"guest.nativePath", "nowhere"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := newHost(host.Config{Guests: c.guests})
			if err == nil {
				h.Close()
				t.Fatal("the host started")
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

// TestEventsAndMetricsNameTheEngine.
func TestEventsAndMetricsNameTheEngine(t *testing.T) {
	t.Parallel()
	sink := &events{}
	h := start(t, host.Config{
		Guests:     host.GuestConfig{Engine: host.EngineNative, NativePath: renamedGuest(t)},
		Trajectory: host.TrajectoryConfig{Sink: sink},
	})
	id := wantWaiting(t, exec(h, `await yield_control(); return 1`), codemode.ReasonYield)
	wantValue(t, h.Wait(context.Background(), me, id), `1`)
	families, err := h.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "engine" {
					labels[f.GetName()] += l.GetValue()
				}
			}
		}
	}
	for _, name := range []string{"quoin_guest_engine_info", "quoin_guest_cpu_seconds_total"} {
		if labels[name] != "native" {
			t.Errorf("%s has the engine %q: %v", name, labels[name], labels)
		}
	}
	shut(t, h)
	named := 0
	for _, e := range sink.all() {
		if e.Kind == trajectory.RunSuspended || e.Kind == trajectory.RunEnded {
			named++
			if e.Engine != "native" || !strings.HasPrefix(e.EngineID, idOfNative) {
				t.Errorf("%s: engine %q (%s)", e.Kind, e.Engine, e.EngineID)
			}
		}
	}
	if named != 2 {
		t.Errorf("%d events name the engine, want 2", named)
	}
}
