//go:build linux

package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// become changes what an installed plugin plays from its next start on, in one
// step: a start finds the one role or the other.
func become(t testing.TB, dir, id, role string) {
	t.Helper()
	name := filepath.Join(dir, id, roleFile)
	writeFile(t, name+".new", role)
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// answer is what the plugin's tool "gen" says: the role's argument.
func answer(t testing.TB, ctx context.Context, s *Supervisor, id string) string {
	t.Helper()
	b, err := s.CallTool(ctx, id, call("gen", none{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return said(t, b)
}

func said(t testing.TB, b json.RawMessage) string {
	t.Helper()
	var out textOut
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return out.Text
}

func statusOf(t testing.TB, s *Supervisor, id string) Status {
	t.Helper()
	for _, st := range s.Plugins() {
		if st.ID == id {
			return st
		}
	}
	t.Fatalf("there is no plugin %s", id)
	return Status{}
}

func reload(t testing.TB, s *Supervisor, id string) {
	t.Helper()
	if err := s.Reload(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

func TestAReloadPutsTheFolderOfNowIntoService(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen one")
	ch := newChanges()
	s := supervise(t, dir, SupervisorOptions{OnChange: ch.note})
	first := statusOf(t, s, "alpha")
	pid := watch(t, first.PID)
	become(t, dir, "alpha", "gen two more")
	reload(t, s, "alpha")
	if got := answer(t, t.Context(), s, "alpha"); got != "two more" {
		t.Errorf("after the reload it says %q", got)
	}
	second := statusOf(t, s, "alpha")
	if first.Generation != 1 || second.Generation != 2 || second.PID == first.PID || second.State != StateRunning || second.Restarts != 0 {
		t.Errorf("first %+v, second %+v", first, second)
	}
	awaitEnd(t, pid)
}

// TestAFailedReloadChangesNothing: whatever is wrong with the new generation, the
// one before serves on, and the status says why.
func TestAFailedReloadChangesNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, role, say string }{
		{"it exits", "exit", "cannot find my keys"},
		{"no handshake", "garbage", "hello, world"},
		{"another identity", "other beta", `"beta"`},
		{"another version", "version 2.0.0", "2.0.0"},
		{"a schema", "raw schema-invalid", "schema"},
		{"a namespace of another's tool", "raw foreign-tool", "issues_list"},
		{"a reserved global", "raw reserved-global", "reserved"},
		{"a scope", "raw described-target", "b"},
		{"a configuration", "refuse", "the token is missing"},
		{"another plugin's global", "good", `plugin "beta"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := shortDir(t)
			install(t, dir, "alpha", "gen one")
			install(t, dir, "beta", "good") // has the global Fixture
			rec, ch := &recorder{}, newChanges()
			s := supervise(t, dir, SupervisorOptions{Logger: slog.New(rec), OnChange: ch.note})
			before := statusOf(t, s, "alpha")
			become(t, dir, "alpha", tc.role)
			err := s.Reload(t.Context(), "alpha")
			if err == nil {
				t.Fatal("the reload succeeded")
			}
			wantParts(t, err.Error(), "alpha", tc.say)
			after := statusOf(t, s, "alpha")
			wantParts(t, after.LastError, tc.say)
			if after.PID != before.PID || after.Generation != before.Generation || after.State != StateRunning || len(after.Tools) != len(before.Tools) {
				t.Errorf("before %+v, after %+v", before, after)
			}
			if got := answer(t, t.Context(), s, "alpha"); got != "one" {
				t.Errorf("it says %q", got)
			}
			wantParts(t, strings.Join(rec.lines(), "\n"), "not reloaded", tc.say)
			become(t, dir, "alpha", "gen two")
			reload(t, s, "alpha")
			if got := statusOf(t, s, "alpha"); got.LastError != "" || answer(t, t.Context(), s, "alpha") != "two" {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestAFailedFirstLoadOffersNothing(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	s := supervise(t, dir, SupervisorOptions{})
	install(t, dir, "alpha", "raw example")
	if err := s.Reload(t.Context(), "alpha"); err == nil {
		t.Fatal("loaded")
	}
	st := statusOf(t, s, "alpha")
	if st.State != StateDisabled || st.Reason == "" || st.Reason != st.LastError || len(s.Offers()) > 0 {
		t.Errorf("%+v", st)
	}
	_, err := s.CallTool(t.Context(), "alpha", call("echo", none{}), nil)
	wantError(t, err, protocol.KindProcess, protocol.CodeDisabled, "alpha", st.Reason)
	become(t, dir, "alpha", "gen one")
	reload(t, s, "alpha")
	if got := answer(t, t.Context(), s, "alpha"); got != "one" {
		t.Errorf("it says %q", got)
	}
}

// TestADisabledPluginComesBackByAReload, and says the newest reason until then.
func TestADisabledPluginComesBackByAReload(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "raw example")
	s := supervise(t, dir, SupervisorOptions{})
	become(t, dir, "alpha", "raw tool-twice")
	if err := s.Reload(t.Context(), "alpha"); err == nil {
		t.Fatal("loaded")
	}
	if st := statusOf(t, s, "alpha"); st.State != StateDisabled || st.Reason != st.LastError || len(s.Offers()) > 0 {
		t.Errorf("%+v", st)
	}
	become(t, dir, "alpha", "gen one")
	reload(t, s, "alpha")
	if st := statusOf(t, s, "alpha"); st.State != StateRunning || answer(t, t.Context(), s, "alpha") != "one" {
		t.Errorf("%+v", st)
	}
}

func TestPluginsComeAndGo(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "beta", "gen b")
	ch := newChanges()
	s := supervise(t, dir, SupervisorOptions{OnChange: ch.note})
	install(t, dir, "alpha", "gen a")
	reload(t, s, "alpha")
	if got := answer(t, t.Context(), s, "alpha"); got != "a" || s.Plugins()[0].ID != "alpha" {
		t.Errorf("%q, %+v", got, s.Plugins())
	}
	pid := watch(t, statusOf(t, s, "alpha").PID)
	if err := os.RemoveAll(filepath.Join(dir, "alpha")); err != nil {
		t.Fatal(err)
	}
	reload(t, s, "alpha")
	awaitEnd(t, pid)
	if got := s.Plugins(); len(got) != 1 || got[0].ID != "beta" || len(s.Offers()) != 1 {
		t.Errorf("%+v", got)
	}
	_, err := s.CallTool(t.Context(), "alpha", call("gen", none{}), nil)
	wantError(t, err, protocol.KindProcess, protocol.CodeStopped, `there is no plugin "alpha"`)
	wantError(t, s.Reload(t.Context(), "alpha"), protocol.KindProcess, protocol.CodeStopped, `there is no plugin "alpha"`)
	install(t, dir, "alpha", "gen again")
	reload(t, s, "alpha")
	if got := answer(t, t.Context(), s, "alpha"); got != "again" {
		t.Errorf("it says %q", got)
	}
}

// held is a call of the tool "hold", which answers once its gate is opened.
type held struct {
	result json.RawMessage
	err    error
	done   chan struct{}
}

// hold starts a call that ends when the returned function is called.
func hold(t testing.TB, s *Supervisor, id string) (h *held, release func()) {
	t.Helper()
	gate := filepath.Join(shortDir(t), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	h = &held{done: make(chan struct{})}
	running := make(chan struct{})
	go func() {
		defer close(h.done)
		h.result, h.err = s.CallTool(context.Background(), id, call("hold", textIn{Text: gate}), func(json.RawMessage) { close(running) })
	}()
	select {
	case <-running:
	case <-h.done:
		t.Fatalf("the call did not begin: %v", h.err)
	}
	return h, func() {
		t.Helper()
		f, err := os.OpenFile(gate, os.O_RDWR, 0) // which does not wait for a plugin that is gone
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		<-h.done
	}
}

// TestARunningCallEndsWhereItBegan: over several reloads, on a generation that is
// stopped only then.
func TestARunningCallEndsWhereItBegan(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen 1")
	s := supervise(t, dir, SupervisorOptions{})
	pid := watch(t, statusOf(t, s, "alpha").PID)
	h, release := hold(t, s, "alpha")
	for i := 2; i <= 4; i++ {
		become(t, dir, "alpha", "gen "+strconv.Itoa(i))
		reload(t, s, "alpha")
		if got := answer(t, t.Context(), s, "alpha"); got != strconv.Itoa(i) {
			t.Errorf("it says %q", got)
		}
	}
	release()
	if h.err != nil || said(t, h.result) != "1" {
		t.Errorf("got %s, %v", h.result, h.err)
	}
	awaitEnd(t, pid)
}

// TestCloseLetsCallsEnd for as long as a drain may take, and no other one start.
func TestCloseLetsCallsEnd(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen 1")
	s := supervise(t, dir, SupervisorOptions{})
	h, release := hold(t, s, "alpha")
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	for refused := false; !refused; {
		_, err := s.CallTool(t.Context(), "alpha", call("gen", none{}), nil)
		refused = err != nil
	}
	release()
	if h.err != nil || said(t, h.result) != "1" {
		t.Errorf("got %s, %v", h.result, h.err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestACallThatDoesNotEndIsCutOff: a generation has its time and no more.
func TestACallThatDoesNotEndIsCutOff(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen 1")
	clock := newStillClock()
	s := supervise(t, dir, SupervisorOptions{clock: clock, RetireTimeout: 3e9})
	h, _ := hold(t, s, "alpha")
	reload(t, s, "alpha")
	clock.fire(t, 3e9)
	<-h.done
	wantError(t, h.err, protocol.KindProcess, protocol.CodeStopped, "plugin alpha was stopped during tool hold")
}

// TestReloadsDoNotPileUp: of many asked for at once, one runs and one follows.
func TestReloadsDoNotPileUp(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen 1")
	s := supervise(t, dir, SupervisorOptions{})
	p := s.present()[0]
	p.change.Lock() // a reload is under way
	first := make(chan error)
	go func() { first <- s.Reload(context.Background(), "alpha") }()
	p.awaitTurn()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := s.Reload(context.Background(), "alpha"); err != nil {
				t.Error(err)
			}
		})
	}
	become(t, dir, "alpha", "gen 2")
	p.change.Unlock()
	if err := <-first; err != nil {
		t.Error(err)
	}
	all.Wait()
	if st := statusOf(t, s, "alpha"); st.Generation > 3 || answer(t, t.Context(), s, "alpha") != "2" {
		t.Errorf("%+v", st)
	}
}

// TestReplacedGenerationsAreBounded: as many as may have calls to finish have some,
// so that another reload waits for one of them, and starts nothing until then.
func TestReplacedGenerationsAreBounded(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen 1")
	s := supervise(t, dir, SupervisorOptions{})
	var release []func()
	for range maxRetired {
		_, end := hold(t, s, "alpha")
		release = append(release, end)
		reload(t, s, "alpha")
	}
	p := s.present()[0]
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.change.Lock()
	_, err := p.replace(ctx, func() (Candidate, error) {
		t.Error("a reload went on without room")
		return Candidate{}, ctx.Err()
	}, false)
	p.change.Unlock()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	become(t, dir, "alpha", "gen 2")
	done := make(chan error)
	go func() { done <- s.Reload(context.Background(), "alpha") }()
	release[0]()
	if err := <-done; err != nil || answer(t, t.Context(), s, "alpha") != "2" {
		t.Errorf("with room again: %v", err)
	}
	for _, end := range release[1:] {
		end()
	}
}

// awaitTurn returns once a reload waits for its turn.
func (p *supervised) awaitTurn() {
	for {
		p.mu.Lock()
		waiting := p.loads.queued != nil
		p.mu.Unlock()
		if waiting {
			return
		}
	}
}

// TestAnImpatientCallerDoesNotStopAReload.
func TestAnImpatientCallerDoesNotStopAReload(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen 1")
	ch := newChanges()
	s := supervise(t, dir, SupervisorOptions{OnChange: ch.note})
	become(t, dir, "alpha", "gen 2")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Reload(ctx, "alpha"); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	for statusOf(t, s, "alpha").Generation != 2 {
		<-ch.c
	}
	if got := answer(t, t.Context(), s, "alpha"); got != "2" {
		t.Errorf("it says %q", got)
	}
}

// TestOneCallOneGeneration: under a hold, the mapping of arguments, the call and
// the hooks around it are all of one generation, whatever is reloaded in the
// meantime.
func TestOneCallOneGeneration(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen 1")
	s := supervise(t, dir, SupervisorOptions{})
	pid := watch(t, statusOf(t, s, "alpha").PID)
	reg := s.Registrations()[0]
	ctx, done := s.KeepGenerations(t.Context())
	mapped := func(ctx context.Context) string {
		t.Helper()
		scope, err := reg.CreateScope(ctx, testRun)
		if err != nil {
			t.Fatal(err)
		}
		c, err := scope.(*namespaces.Scope).Resolve([]string{"gen"})
		if err != nil {
			t.Fatal(err)
		}
		input, err := reg.MapInput(ctx, testRun, c.Mapping.Mapper, nil)
		if err != nil {
			t.Fatal(err)
		}
		return said(t, input)
	}
	if got := mapped(ctx); got != "1" {
		t.Errorf("mapped by %q", got)
	}
	become(t, dir, "alpha", "gen 2")
	reload(t, s, "alpha")
	if a, b, c := mapped(ctx), answer(t, ctx, s, "alpha"), answer(t, t.Context(), s, "alpha"); a != "1" || b != "1" || c != "2" {
		t.Errorf("mapped by %q, called %q; others call %q", a, b, c)
	}
	done()
	awaitEnd(t, pid)
	if a, b := mapped(ctx), answer(t, ctx, s, "alpha"); a != "2" || b != "2" {
		t.Errorf("after the hold: mapped by %q, called %q", a, b)
	}
}

// TestAHoldOutlivesItsGeneration: one that is cut off, or dies after it was
// replaced, gives way to the present one.
func TestAHoldOutlivesItsGeneration(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen 1")
	s := supervise(t, dir, SupervisorOptions{})
	pid := watch(t, statusOf(t, s, "alpha").PID)
	ctx, done := s.KeepGenerations(t.Context())
	defer done()
	answer(t, ctx, s, "alpha")
	become(t, dir, "alpha", "gen 2")
	reload(t, s, "alpha")
	if _, err := s.CallTool(ctx, "alpha", call("exit", none{}), nil); err == nil {
		t.Fatal("exit returned a result")
	}
	awaitEnd(t, pid)
	for {
		b, err := s.CallTool(ctx, "alpha", call("gen", none{}), nil)
		if err != nil { // its end has not been noticed everywhere
			wantError(t, err, protocol.KindProcess, protocol.CodeCrashed, "alpha")
			continue
		}
		if said(t, b) != "2" {
			t.Errorf("got %s", b)
		}
		return
	}
}

// TestKnownToolsHaveToBeCompatible: a caller that knows a tool of an earlier
// generation gets the present one if that takes the input and is no less harmless.
func TestKnownToolsHaveToBeCompatible(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "tool v1")
	s := supervise(t, dir, SupervisorOptions{})
	known := func(name string) *OwnedTool {
		for _, tool := range s.Tools() {
			if tool.Name == name {
				return &tool
			}
		}
		t.Fatal("no tool " + name)
		return nil
	}
	gone, same, grown, turned, harmful := known("gone"), known("same"), known("grown"), known("turned"), known("harmless")
	become(t, dir, "alpha", "tool v2")
	reload(t, s, "alpha")
	try := func(k *OwnedTool, input string) error {
		_, err := s.CallTool(t.Context(), "alpha", CallRequest{Tool: k.Name, CallID: "c", Input: json.RawMessage(input), Known: k}, nil)
		return err
	}
	for _, k := range []*OwnedTool{same, grown} {
		if err := try(k, `{"word":"x"}`); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
	wantError(t, try(gone, `{"word":"x"}`), protocol.KindInput, protocol.CodeChanged, "alpha", "reloaded", `no tool "gone"`)
	wantError(t, try(turned, `{"word":"x"}`), protocol.KindInput, protocol.CodeChanged, "alpha", "reloaded", `"turned"`, "another input")
	wantError(t, try(harmful, `{"word":"x"}`), protocol.KindInput, protocol.CodeChanged, "alpha", "reloaded", `"harmless"`)
	if err := try(known("turned"), `{"number":1}`); err != nil {
		t.Error(err)
	}
}

// TestCrashCareBelongsToAGeneration: a new one starts with a fresh budget, and the
// old one's death while it finishes its calls is not a crash of the plugin.
func TestCrashCareBelongsToAGeneration(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen 1")
	clock, ch := newStillClock(), newChanges()
	s := supervise(t, dir, SupervisorOptions{OnChange: ch.note, clock: clock, Restart: RestartPolicy{Budget: 1, FirstDelay: 7e9}})
	crash := func() {
		t.Helper()
		if _, err := s.CallTool(t.Context(), "alpha", call("exit", none{}), nil); err == nil {
			t.Fatal("exit returned a result")
		}
	}
	crash()
	clock.fire(t, 7e9)
	ch.await(t, s, "alpha", StateRunning)
	h, _ := hold(t, s, "alpha")
	old := statusOf(t, s, "alpha").PID
	reload(t, s, "alpha")
	if st := statusOf(t, s, "alpha"); st.Restarts != 0 {
		t.Errorf("%+v", st)
	}
	if pid, err := strconv.Atoi(old); err != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
		t.Fatalf("process %s cannot be killed (%v)", old, err)
	}
	<-h.done
	wantError(t, h.err, protocol.KindProcess, protocol.CodeCrashed, "alpha", "killed")
	if st := statusOf(t, s, "alpha"); st.State != StateRunning || st.Restarts != 0 {
		t.Errorf("%+v", st)
	}
	crash()
	ch.await(t, s, "alpha", StateRestarting)
	clock.fire(t, 7e9)
	ch.await(t, s, "alpha", StateRunning)
	crash()
	st := ch.await(t, s, "alpha", StateDisabled)
	if len(s.Offers()) > 0 || st.Restarts != 1 {
		t.Errorf("%+v", st)
	}
}

// develop makes the folder of a development plugin.
func develop(t testing.TB, id, role string) Candidate {
	t.Helper()
	return install(t, shortDir(t), id, role)
}

func TestADevelopmentPluginStandsInForTheInstalledOne(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen installed")
	s := supervise(t, dir, SupervisorOptions{Gate: func(f Candidate) (Candidate, error) {
		if !strings.HasPrefix(f.Dir, dir) {
			return f, fmt.Errorf("the gate was asked about %s", f.Dir)
		}
		return f, nil
	}})
	installed := statusOf(t, s, "alpha")
	f := develop(t, "alpha", "gen dev1")
	f.Manifest.SHA256 = map[string]string{manifest.HostPlatform(): hexSum(nil)} // of what was built before
	undo, err := s.Override(t.Context(), "alpha", f)
	if err != nil {
		t.Fatal(err)
	}
	st := statusOf(t, s, "alpha")
	if !st.Development || st.Dir != f.Dir || st.Generation != 2 || answer(t, t.Context(), s, "alpha") != "dev1" {
		t.Errorf("%+v", st)
	}
	pid := watch(t, st.PID)
	again, err := s.Override(t.Context(), "alpha", develop(t, "alpha", "gen dev2"))
	if err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, pid)
	if err := undo(t.Context()); err != nil { // of an override that is no more
		t.Error(err)
	}
	if got := answer(t, t.Context(), s, "alpha"); got != "dev2" {
		t.Errorf("it says %q", got)
	}
	if _, err := s.Override(t.Context(), "alpha", develop(t, "alpha", "exit")); err == nil {
		t.Error("a development plugin that exits took over")
	}
	if _, err := s.Override(t.Context(), "alpha", develop(t, "beta", "good")); err == nil || !strings.Contains(err.Error(), "beta") {
		t.Errorf("another plugin took over: %v", err)
	}
	if got := answer(t, t.Context(), s, "alpha"); got != "dev2" {
		t.Errorf("after failures it says %q", got)
	}
	// The installed plugin can be reloaded behind the other's back.
	become(t, dir, "alpha", "gen installed2")
	reload(t, s, "alpha")
	if got := answer(t, t.Context(), s, "alpha"); got != "dev2" {
		t.Errorf("after a reload it says %q", got)
	}
	pid = watch(t, statusOf(t, s, "alpha").PID)
	if err := again(t.Context()); err != nil {
		t.Error(err)
	}
	awaitEnd(t, pid)
	if st := statusOf(t, s, "alpha"); st.Development || st.Dir != installed.Dir || answer(t, t.Context(), s, "alpha") != "installed2" {
		t.Errorf("%+v", st)
	}
	if err := again(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTheInstalledPluginKeepsRunningBehindAnother: it is back without a start.
func TestTheInstalledPluginKeepsRunningBehindAnother(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen installed")
	s := supervise(t, dir, SupervisorOptions{})
	before := statusOf(t, s, "alpha")
	h, release := hold(t, s, "alpha")
	undo, err := s.Override(t.Context(), "alpha", develop(t, "alpha", "gen dev"))
	if err != nil {
		t.Fatal(err)
	}
	release()
	if h.err != nil || said(t, h.result) != "installed" {
		t.Errorf("got %s, %v", h.result, h.err)
	}
	if err := undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := statusOf(t, s, "alpha"); after.PID != before.PID || after.Generation != 1 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// TestADevelopmentPluginNeedsNoInstalledOne, and leaves nothing behind.
func TestADevelopmentPluginNeedsNoInstalledOne(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	s := supervise(t, dir, SupervisorOptions{})
	if _, err := s.Override(t.Context(), "alpha", develop(t, "alpha", "exit")); err == nil || len(s.Plugins()) > 0 {
		t.Errorf("%v, %+v", err, s.Plugins())
	}
	if _, err := s.Override(t.Context(), "../alpha", develop(t, "alpha", "good")); err == nil {
		t.Error("a path is no id")
	}
	undo, err := s.Override(t.Context(), "alpha", develop(t, "alpha", "gen dev"))
	if err != nil {
		t.Fatal(err)
	}
	if got := answer(t, t.Context(), s, "alpha"); got != "dev" {
		t.Errorf("it says %q", got)
	}
	install(t, dir, "alpha", "gen installed")
	reload(t, s, "alpha")
	if err := os.RemoveAll(filepath.Join(dir, "alpha")); err != nil {
		t.Fatal(err)
	}
	reload(t, s, "alpha")
	if got := answer(t, t.Context(), s, "alpha"); got != "dev" {
		t.Errorf("it says %q", got)
	}
	if err := undo(t.Context()); err != nil || len(s.Plugins()) > 0 {
		t.Errorf("%v, %+v", err, s.Plugins())
	}
}

// TestCloseStopsEveryGeneration: installed, overriding and retired ones.
func TestCloseStopsEveryGeneration(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "alpha", "gen 1")
	install(t, dir, "beta", "gen 1")
	s := supervise(t, dir, SupervisorOptions{DrainTimeout: time.Millisecond})
	var pids []int
	note := func(id string) { pids = append(pids, watch(t, statusOf(t, s, id).PID)) }
	note("alpha")
	note("beta")
	for _, id := range []string{"alpha", "beta"} {
		hold(t, s, id)
	}
	reload(t, s, "alpha")
	note("alpha")
	if _, err := s.Override(t.Context(), "alpha", develop(t, "alpha", "gen dev")); err != nil {
		t.Fatal(err)
	}
	note("alpha")
	if err := os.RemoveAll(filepath.Join(dir, "beta")); err != nil {
		t.Fatal(err)
	}
	reload(t, s, "beta")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		awaitEnd(t, pid)
	}
	wantError(t, s.Reload(t.Context(), "alpha"), protocol.KindProcess, protocol.CodeStopped, "alpha")
	_, err := s.Override(t.Context(), "alpha", develop(t, "alpha", "gen dev"))
	wantError(t, err, protocol.KindProcess, protocol.CodeStopped, "alpha")
}
