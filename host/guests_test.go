package host_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// anotherGuest is the same guest in another build.
func anotherGuest(t *testing.T) string {
	t.Helper()
	built, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(built)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(mkdir(t), "quoin-guest")
	if err := hosttest.WriteExecutable(path, append(b, 0)); err != nil { // a host that is root starts workers as another user
		t.Fatal(err)
	}
	return path
}

// gauge reads a metric without labels.
func gauge(t *testing.T, h *host.Host, name string) float64 {
	t.Helper()
	families, err := h.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// TestPreviousGuestsFinishTheirRuns: after a change of the guest, a host says how many
// suspended runs belong to another build and keeps them. With the old guest among its builds
// they continue to their end, and new runs use the new guest.
func TestPreviousGuestsFinishTheirRuns(t *testing.T) {
	t.Parallel()
	ctx, dir, old := context.Background(), mkdir(t), anotherGuest(t)
	first := start(t, host.Config{Store: openState(t, dir), Guests: host.GuestConfig{Path: old}})
	id := wantWaiting(t, exec(first, `const kept = 40; await yield_control(); await yield_control(); return kept + 2`), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	log := &lockedBuffer{}
	second := start(t, host.Config{Store: openState(t, dir), Logger: slog.New(slog.NewTextHandler(log, nil))})
	list, err := second.Runs().All(ctx)
	if err != nil || len(list) != 1 || !list[0].Foreign || list[0].ImageBytes == 0 {
		t.Errorf("%+v, %v", list, err)
	}
	for !strings.Contains(log.String(), "suspended runs belong to another build of the guest") { // said in the background
	}
	if !strings.Contains(log.String(), "runs=1") || gauge(t, second, "quoin_foreign_runs") != 1 {
		t.Errorf("log %s, metric %v", log, gauge(t, second, "quoin_foreign_runs"))
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}

	third := start(t, host.Config{Store: openState(t, dir), Guests: host.GuestConfig{Builds: buildsWith(t, old)}})
	fresh := wantWaiting(t, exec(third, `await yield_control(); return 1`), codemode.ReasonYield)
	wantWaiting(t, third.Wait(ctx, me, id), codemode.ReasonYield)
	list, err = third.Runs().All(ctx)
	if err != nil || len(list) != 2 || list[0].Foreign || list[1].Foreign || list[0].GuestBuild == list[1].GuestBuild {
		t.Errorf("%+v, %v", list, err)
	}
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
	fourth := start(t, host.Config{Store: openState(t, dir), Guests: host.GuestConfig{Builds: buildsWith(t, old)}})
	wantValue(t, fourth.Wait(ctx, me, id), `42`)
	wantValue(t, fourth.Wait(ctx, me, fresh), `1`)
}

// buildsWith returns a directory of builds that has those guests.
func buildsWith(t *testing.T, guests ...string) string {
	t.Helper()
	dir := mkdir(t)
	for _, guest := range guests {
		b, err := os.ReadFile(guest)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256(b))), b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestKeptGuestsFinishTheirRuns: with guest.builds, a host keeps its guest before it stores
// a run, even if the file it was started from is another one by then. Hosts with another guest
// resume the run, and so does a host that is started once that guest is gone.
func TestKeptGuestsFinishTheirRuns(t *testing.T) {
	t.Parallel()
	ctx, dir, old := context.Background(), mkdir(t), anotherGuest(t)
	builds := filepath.Join(mkdir(t), "builds")
	first := start(t, host.Config{Store: openState(t, dir), Guests: host.GuestConfig{Path: old, Builds: builds}})
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	if kept, err := filepath.Glob(filepath.Join(builds, "*")); err != nil || len(kept) != 0 {
		t.Errorf("kept although no run needs it: %v, %v", kept, err)
	}
	id := wantWaiting(t, exec(first, `const kept = 40; await yield_control(); await yield_control(); return kept + 2`), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for _, last := range []bool{false, true} {
		h := start(t, host.Config{Store: openState(t, dir), Guests: host.GuestConfig{Builds: builds}})
		if list, err := h.Runs().All(ctx); err != nil || len(list) != 1 || list[0].Foreign {
			t.Errorf("%+v, %v", list, err)
		}
		if !last {
			wantWaiting(t, h.Wait(ctx, me, id), codemode.ReasonYield)
		} else {
			wantValue(t, h.Wait(ctx, me, id), `42`)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAKeptGuestOfOtherBytes is not started: the id of a run's build is sealed, the
// directory is not.
func TestAKeptGuestOfOtherBytes(t *testing.T) {
	t.Parallel()
	ctx, dir, builds := context.Background(), mkdir(t), filepath.Join(mkdir(t), "builds")
	first := start(t, host.Config{Store: openState(t, dir), Guests: host.GuestConfig{Path: anotherGuest(t), Builds: builds}})
	id := wantWaiting(t, exec(first, `await yield_control(); return 42`), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(builds, strings.Repeat("?", 64)))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	f, err := os.OpenFile(kept[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, host.Config{Store: openState(t, dir), Guests: host.GuestConfig{Builds: builds}})
	got := second.Wait(ctx, me, id)
	wantFailure(t, got, codemode.CodeUnavailable, "", codemode.PhaseHost)
	if !strings.Contains(got.Error, "the file was replaced") {
		t.Errorf("got %s", show(got))
	}
	if err := os.Remove(kept[0]); err != nil {
		t.Fatal(err)
	}
	wantValue(t, second.Wait(ctx, me, id), `42`) // by a replay
}
