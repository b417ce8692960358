//go:build linux

package plugins

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// changes counts OnChange calls and lets a test wait for a state.
type changes struct{ c chan struct{} }

func newChanges() *changes { return &changes{c: make(chan struct{}, 1024)} }

func (c *changes) note() { c.c <- struct{}{} }

// await waits until the plugin is in a state, looking after every change.
func (c *changes) await(t *testing.T, s *Supervisor, id string, want State) Status {
	t.Helper()
	for {
		for _, st := range s.Plugins() {
			if st.ID == id && st.State == want {
				return st
			}
		}
		select {
		case <-c.c:
		case <-t.Context().Done():
			t.Fatalf("plugin %s never was %v: %+v", id, want, s.Plugins())
		}
	}
}

// supervise runs the plugins in dir until the test ends.
func supervise(t *testing.T, dir string, o SupervisorOptions) *Supervisor {
	t.Helper()
	o.DataDir = filepath.Join(shortDir(t), "data")
	o.RunDir = filepath.Join(shortDir(t), "run")
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.times = defaultTimes
	o.times.rescan, o.times.restartFirst = o.times.rescan/10, o.times.restartFirst/10
	s, err := Supervise(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if left := entries(t, o.RunDir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return s
}

func TestOneBadPluginDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "good")
	install(t, dir, "beta", "other alpha")
	install(t, dir, "gamma", "raw example")
	writeFile(t, filepath.Join(dir, "delta", manifest.Name), `{`)
	rec := &recorder{}
	s := supervise(t, dir, SupervisorOptions{Logger: slog.New(rec)})

	var got []string
	for _, st := range s.Plugins() {
		got = append(got, st.ID+" "+st.State.String())
		if st.State == StateDisabled && (st.Reason == "" || len(st.Tools)+len(st.Namespaces) > 0) {
			t.Errorf("%+v", st)
		}
	}
	if diff := cmp.Diff([]string{"alpha running", "beta disabled", "delta disabled", "gamma disabled"}, got); diff != "" {
		t.Error(diff)
	}
	for _, tool := range s.Tools() {
		if tool.PluginID != "alpha" {
			t.Errorf("tool %s of %s is offered", tool.Name, tool.PluginID)
		}
	}
	if _, err := s.CallTool(t.Context(), "alpha", call("echo", none{}), nil); err != nil {
		t.Error(err)
	}
	_, err := s.CallTool(t.Context(), "beta", call("echo", none{}), nil)
	wantError(t, err, protocol.KindProcess, protocol.CodeDisabled, "plugin beta is disabled", `"alpha"`)
	_, err = s.CallTool(t.Context(), "omega", call("echo", none{}), nil)
	wantError(t, err, protocol.KindProcess, protocol.CodeStopped, `"omega"`)
	wantParts(t, strings.Join(rec.lines(), "\n"), "plugin=beta", "plugin=gamma", "plugin=delta")
}

func TestRegistrationsReachTheLiveProcess(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "good")
	clock, ch := newStillClock(), newChanges()
	s := supervise(t, dir, SupervisorOptions{OnChange: ch.note, clock: clock})
	regs := s.Registrations()
	if len(regs) != 1 || regs[0].PluginID != "alpha" || regs[0].GlobalName != "Fixture" {
		t.Fatalf("%+v", regs)
	}
	use := func() {
		t.Helper()
		v, err := regs[0].CreateScope(t.Context(), testRun)
		if err != nil {
			t.Fatal(err)
		}
		c, err := v.(*namespaces.Scope).Resolve([]string{"shout"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := regs[0].MapInput(t.Context(), testRun, c.Mapping.Mapper, []json.RawMessage{json.RawMessage(`"x"`)}); err != nil {
			t.Fatal(err)
		}
	}
	use()
	first := ch.await(t, s, "alpha", StateRunning)
	if _, err := s.CallTool(t.Context(), "alpha", call("exit", none{}), nil); err == nil {
		t.Fatal("exit returned a result")
	}
	down := ch.await(t, s, "alpha", StateRestarting)
	if len(down.Tools) == 0 || !strings.Contains(down.Reason, "exit status 3") {
		t.Errorf("while restarting: %+v", down)
	}
	restart := clock.take(t, s.options.Restart.FirstDelay)
	ended := make(chan error, 1)
	create := func(ctx context.Context) {
		_, err := regs[0].CreateScope(ctx, testRun)
		ended <- err
	}
	refused := func(end func()) {
		t.Helper()
		end()
		wantError(t, <-ended, protocol.KindProcess, protocol.CodeRestarting, "plugin alpha", "exit status 3")
	}
	go create(t.Context())
	refused(func() { clock.fire(t, s.options.times.restartWait) })
	ctx, cancel := context.WithCancel(t.Context())
	go create(ctx)
	clock.take(t, s.options.times.restartWait)
	refused(cancel)
	go create(t.Context())
	clock.take(t, s.options.times.restartWait)
	restart.c <- clock.Now()
	if err := <-ended; err != nil {
		t.Errorf("a scope asked for while the plugin restarts: %v", err)
	}
	second := ch.await(t, s, "alpha", StateRunning)
	if second.PID == first.PID || second.Restarts != 1 {
		t.Errorf("first %+v, second %+v", first, second)
	}
	use() // the old registration leads to the new process
}

func TestRestartBudget(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "once")
	clock, ch := newStillClock(), newChanges()
	s := supervise(t, dir, SupervisorOptions{
		OnChange: ch.note, clock: clock,
		Restart: RestartPolicy{Budget: 2, FirstDelay: 3 * time.Second, MaxDelay: time.Minute},
	})
	if len(s.Registrations()) != 1 {
		t.Fatal("no namespace before the crash")
	}
	if _, err := s.CallTool(t.Context(), "alpha", call("exit", none{}), nil); err == nil {
		t.Fatal("exit returned a result")
	}
	clock.fire(t, 3*time.Second)
	clock.fire(t, 6*time.Second)
	st := ch.await(t, s, "alpha", StateDisabled)
	wantParts(t, st.Reason, "2 restarts", "not again")
	if st.Restarts != 2 || len(st.Tools) > 0 || len(s.Tools()) > 0 || len(s.Registrations()) > 0 {
		t.Errorf("a disabled plugin offers something: %+v", st)
	}
	_, err := s.CallTool(t.Context(), "alpha", call("echo", none{}), nil)
	wantError(t, err, protocol.KindProcess, protocol.CodeDisabled, "plugin alpha is disabled")
}

func TestAFirstStartThatDiesIsTriedAgain(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "exit")
	clock, ch := newStillClock(), newChanges()
	s := supervise(t, dir, SupervisorOptions{OnChange: ch.note, clock: clock, Restart: RestartPolicy{Budget: 1}})
	st := ch.await(t, s, "alpha", StateRestarting)
	wantParts(t, st.Reason, "exit status 7", "cannot find my keys")
	if err := os.WriteFile(filepath.Join(st.Dir, roleFile), []byte("good"), 0o600); err != nil {
		t.Fatal(err)
	}
	clock.fire(t, s.options.Restart.FirstDelay)
	ch.await(t, s, "alpha", StateRunning)
}

func TestAPluginThatDoesNotAnswerIsReplaced(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "good")
	clock, ch := newStillClock(), newChanges()
	s := supervise(t, dir, SupervisorOptions{
		OnChange: ch.note, clock: clock, CallTimeout: 100 * time.Millisecond, HealthTimeout: 100 * time.Millisecond,
	})
	_, err := s.CallTool(t.Context(), "alpha", call("freeze", none{}), nil)
	wantError(t, err, protocol.KindTimeout, protocol.CodeTimeout, "plugin alpha", "tool freeze")
	ch.await(t, s, "alpha", StateRestarting)
	clock.fire(t, s.options.Restart.FirstDelay)
	ch.await(t, s, "alpha", StateRunning)
}

func TestAHangingToolIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "good")
	s := supervise(t, dir, SupervisorOptions{CallTimeout: 100 * time.Millisecond})
	before := s.Plugins()[0].PID
	_, err := s.CallTool(t.Context(), "alpha", call("wait", none{}), nil)
	wantError(t, err, protocol.KindTimeout, protocol.CodeTimeout, "plugin alpha", "tool wait")
	s.plugins[0].installed.helpers.Wait()
	if st := s.Plugins()[0]; st.State != StateRunning || st.PID != before {
		t.Errorf("a plugin that answers was replaced: %+v", st)
	}
}

func TestCloseStopsEverything(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "good")
	install(t, dir, "beta", "good")
	var calls atomic.Int64
	s := supervise(t, dir, SupervisorOptions{OnChange: func() { calls.Add(1) }})
	pid := watch(t, s.Plugins()[0].PID)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, pid)
	for _, st := range s.Plugins() {
		if st.State != StateStopped || len(st.Tools) > 0 || st.PID != "" {
			t.Errorf("%+v", st)
		}
	}
	_, err := s.CallTool(t.Context(), "alpha", call("echo", none{}), nil)
	wantError(t, err, protocol.KindProcess, protocol.CodeStopped, "plugin alpha")
	if calls.Load() == 0 {
		t.Error("nobody was told")
	}
}

func TestRestartsAreDelayedAndForgotten(t *testing.T) {
	t.Parallel()
	r := restarts{policy: RestartPolicy{Budget: 4, Window: time.Minute, FirstDelay: time.Second, MaxDelay: 3 * time.Second}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var got []time.Duration
	for range 4 {
		d, ok := r.next(now)
		if !ok {
			t.Fatal("the budget is too small")
		}
		got = append(got, d)
	}
	if diff := cmp.Diff([]time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second}, got); diff != "" {
		t.Error(diff)
	}
	if _, ok := r.next(now.Add(59 * time.Second)); ok {
		t.Error("a fifth restart within the window")
	}
	if d, ok := r.next(now.Add(time.Minute)); !ok || d != time.Second {
		t.Errorf("after the window: %v, %v", d, ok)
	}
	if r.total != 5 {
		t.Errorf("total %d", r.total)
	}
}
