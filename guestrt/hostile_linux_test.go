package guestrt

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/hostile/hostileworker"
	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// hostileConfig starts workers that misbehave as mode says, or as each cell says
// if that is empty.
func hostileConfig(t *testing.T, mode string) Config {
	t.Helper()
	path, err := hostileworker.Executable(t.TempDir(), mode)
	if err != nil {
		t.Fatal(err)
	}
	return Config{GuestPath: path, Prepared: 1, Isolation: IsolationBestEffort}
}

func TestHostileWorkersHarmNobody(t *testing.T) {
	for mode, want := range map[string]struct{ code, reason string }{
		"garbage":     {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed},
		"text":        {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed},
		"huge-frame":  {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed},
		"endless":     {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed},
		"wrong-type":  {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed},
		"host-type":   {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed},
		"forged-ids":  {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed},
		"hang-up":     {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed},
		"mute":        {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed},
		"half-frame":  {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed},
		"exit-3":      {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed},
		"exit-0":      {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed},
		"panic":       {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed},
		"closes-log":  {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed},
		"exit-memory": {wire.CodeMemoryLimit, ""},
		"bad-call":    {wire.CodeInternal, wire.ReasonSandboxViolation},
		"silent":      {wire.CodeTimeout, ""},
		"files":       {wire.CodeTimeout, ""},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, hostileConfig(t, mode))
			w := acquire(t, p, "s")
			deadline := in(plenty)
			if want.code == wire.CodeTimeout {
				deadline = in(300 * time.Millisecond)
			}
			_, err := w.Start(context.Background(), js("return 1"), nil, deadline)
			wantEnding(t, err, want.code, want.reason)
			again, second := w.Turn(context.Background(), nil, deadline)
			if second == nil || second.Error() != err.Error() {
				t.Errorf("a dead worker answers %v, %v", again, second)
			}
			p.Release(w)
			if next := acquire(t, p, "s"); next.Pid() == w.Pid() {
				t.Error("the worker is lent again")
			}
		})
	}
}

// TestWorkersThatDoNotListenAreKilled: one cannot be written to, and one has no room for
// what it is told. Another worker runs the next cell.
func TestWorkersThatDoNotListenAreKilled(t *testing.T) {
	for mode, want := range map[string]struct {
		code, reason string
		deadline     time.Duration
	}{
		"deaf":   {wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed, plenty},
		"unread": {wire.CodeTimeout, "", 300 * time.Millisecond},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, hostileConfig(t, ""))
			w := acquire(t, p, "s")
			if r := start(t, w, js(mode), nil); r.Pending != 1 {
				t.Fatalf("got %+v, want a call", r)
			}
			_, err := w.Turn(context.Background(), []wire.Settlement{resolve(1, strings.Repeat("x", 4<<20))}, in(want.deadline))
			wantEnding(t, err, want.code, want.reason)
			ended(t, w.p)
			p.Release(w)
			wantValue(t, start(t, acquire(t, p, "s"), js("cpu 0"), nil), "1")
		})
	}
}

// TestAWorkerThatUsesTooMuchIsKilled has workers without any limit of the kernel.
func TestAWorkerThatUsesTooMuchIsKilled(t *testing.T) {
	for mode, want := range map[string]struct{ code, reason string }{
		"threads 100": {wire.CodeInternal, wire.ReasonSandboxViolation},
		"memory 500":  {wire.CodeMemoryLimit, ""},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, hostileConfig(t, ""))
			w := acquire(t, p, "s")
			defer p.Release(w)
			_, err := w.Start(context.Background(), js(mode), nil, in(plenty))
			wantEnding(t, err, want.code, want.reason)
		})
	}
}

func TestExcess(t *testing.T) {
	const guest = 64 << 20
	for _, c := range []struct {
		usage sandbox.Usage
		code  string
	}{
		{sandbox.Usage{Memory: sandbox.MemoryFor(guest), Threads: sandbox.MaxThreads}, ""},
		{sandbox.Usage{Memory: sandbox.MemoryFor(guest) + 1}, wire.CodeMemoryLimit},
		{sandbox.Usage{Threads: sandbox.MaxThreads + 1}, wire.CodeInternal},
	} {
		end := excess(c.usage, guest)
		if got := (end != nil); got != (c.code != "") || got && end.Code != c.code {
			t.Errorf("%+v: %v, want %q", c.usage, end, c.code)
		}
	}
	if most := sandbox.MemoryFor(guest); most != 384<<20 {
		t.Errorf("docs/reference/security.md says 384 MiB, the limit is %d", most)
	}
}

func TestWorkersThatNeverGetReadyAreUnavailable(t *testing.T) {
	for mode, reason := range map[string]string{
		"before-ready": wire.ReasonWorkerCrashed, "never-ready": wire.ReasonWorkerCrashed, "other-version": "", "liar": "",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			_, err := NewPool(context.Background(), hostileConfig(t, mode))
			wantEnding(t, err, wire.CodeRuntimeUnavailable, reason)
		})
	}
}
