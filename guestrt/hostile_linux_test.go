package guestrt

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt/hostile/hostileworker"
	"github.com/quoinhq/quoin/guestrt/wire"
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
		"garbage":     {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"text":        {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"huge-frame":  {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"endless":     {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"wrong-type":  {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"host-type":   {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"forged-ids":  {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"hang-up":     {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"half-frame":  {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"exit-3":      {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"exit-0":      {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"panic":       {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"closes-log":  {wire.CodeInternal, wire.ReasonWorkerCrashed},
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

func TestWorkersThatNeverGetReadyAreUnavailable(t *testing.T) {
	for _, mode := range []string{"before-ready", "other-version", "never-ready", "liar"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			_, err := NewPool(context.Background(), hostileConfig(t, mode))
			wantEnding(t, err, wire.CodeRuntimeUnavailable, "")
		})
	}
}

func TestLogOfAWorkerIsCapped(t *testing.T) {
	var log lines
	c := hostileConfig(t, "loud")
	c.Logger = log.logger()
	p := newPool(t, c)
	w := acquire(t, p, "s")
	wantValue(t, start(t, w, js("return 1"), nil), "1")
	w.Kill()
	p.Release(w)
	<-w.p.gone
	if n, text := log.count(); n > maxLogLines+1 || len(text) > 2*maxLogLines*maxLogLine || !strings.Contains(text, "noise") {
		t.Errorf("%d lines, %d bytes were logged", n, len(text))
	}
}
