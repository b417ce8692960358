package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/sqlite"
)

// shelf is what the tools of these tests change: values by name, in a file that
// outlives the process.
type shelf struct {
	path string
	mu   sync.Mutex
	// refuse makes restore fail for a name, stuck makes it take effect and never return.
	refuse map[string]bool
	stuck  map[string]chan struct{}
}

// shelved is the content of a shelf.
type shelved struct {
	Values map[string]string
	Keys   map[string]bool // of the calls of restore that took effect
	Log    []string        // what was done, in order
}

func newShelf(dir string) *shelf {
	return &shelf{path: filepath.Join(dir, "shelf.json"), refuse: map[string]bool{}, stuck: map[string]chan struct{}{}}
}

func (s *shelf) read() shelved {
	in := shelved{Values: map[string]string{}, Keys: map[string]bool{}}
	if b, err := os.ReadFile(s.path); err == nil {
		if err := json.Unmarshal(b, &in); err != nil {
			panic(err)
		}
	}
	return in
}

func (s *shelf) change(f func(*shelved)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.read()
	f(&in)
	b, err := json.Marshal(in)
	if err == nil {
		err = os.WriteFile(s.path, b, 0o600)
	}
	if err != nil {
		panic(err)
	}
}

type placed struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (s *shelf) tools() []catalog.Tool {
	tool := func(name string, t catalog.Tool, do func(catalog.Invocation, placed) error) catalog.Tool {
		t.Name, t.Description = name, "Works on the shelf."
		t.Invoke = func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
			var in placed
			if err := json.Unmarshal(c.Input, &in); err != nil {
				return nil, err
			}
			return json.RawMessage("null"), do(c, in)
		}
		return t
	}
	return []catalog.Tool{
		tool("put", catalog.Tool{Revertible: true}, func(c catalog.Invocation, in placed) error {
			s.change(func(now *shelved) {
				before, err := json.Marshal(placed{in.Name, now.Values[in.Name]})
				if err != nil {
					panic(err)
				}
				if now.Values[in.Name] == in.Value {
					return
				}
				c.RevertBy(catalog.Inverse{Tool: "restore", Input: before})
				now.Values[in.Name] = in.Value
				now.Log = append(now.Log, "put "+in.Name)
			})
			return nil
		}),
		tool("restore", catalog.Tool{Idempotent: true}, func(c catalog.Invocation, in placed) error {
			if s.refuse[in.Name] {
				return errors.New("the shelf is locked")
			}
			s.change(func(now *shelved) {
				if now.Keys[c.IdempotencyKey] {
					return
				}
				now.Keys[c.IdempotencyKey] = true
				now.Values[in.Name] = in.Value
				now.Log = append(now.Log, "restore "+in.Name)
			})
			if stuck := s.stuck[in.Name]; stuck != nil {
				close(stuck)
				select {}
			}
			return nil
		}),
		tool("burn", catalog.Tool{Revertible: true}, func(c catalog.Invocation, _ placed) error {
			c.RevertBy(catalog.Inverse{Impossible: "it is ashes"})
			return nil
		}),
		tool("mail", catalog.Tool{}, func(catalog.Invocation, placed) error { return nil }),
		tool("look", catalog.Tool{ReadOnly: true}, func(catalog.Invocation, placed) error { return nil }),
		tool("jam", catalog.Tool{Revertible: true}, func(catalog.Invocation, placed) error { return errors.New("nothing moves") }),
	}
}

// shelving makes five effects, two of them for good, and calls others that have none.
const shelving = `await tools.mail();
await tools.put({name: "a", value: "1"});
await tools.look();
await tools.burn();
await tools.put({name: "b", value: "1"});
await tools.put({name: "b", value: "1"});
try { await tools.jam() } catch {}
await tools.put({name: "c", value: "1"});`

// effectsOf is the only journal there is.
func effectsOf(t *testing.T, h *host.Host) *host.RunEffects {
	t.Helper()
	list, err := h.Effects().List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%d journals, %v", len(list), err)
	}
	out, err := h.Effects().Get(t.Context(), list[0].RunID)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// states are the effects as short texts.
func states(j *host.RunEffects) (out []string) {
	for _, e := range j.Effects {
		out = append(out, e.Tool[len("quoin:core:"):]+" "+string(e.State))
	}
	return out
}

func wantStates(t *testing.T, j *host.RunEffects, status host.UndoStatus, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, states(j)); d != "" || j.Status != status {
		t.Fatalf("status %s, want %s; effects (-want +got):\n%s", j.Status, status, d)
	}
}

func undo(t *testing.T, h *host.Host, runID string, skip ...string) *host.RunEffects {
	t.Helper()
	j, err := h.Effects().Undo(t.Context(), me, runID, host.UndoOptions{Skip: skip})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestUndo: effects are undone in reverse order, once each; what cannot be undone is
// said, and a second undo does nothing.
func TestUndo(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]runstore.Store{"memory": nil, "directory": openState(t, t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t.TempDir())
			h := start(t, host.Config{Tools: s.tools(), Store: store})
			wantValue(t, exec(h, shelving), "null")
			before := effectsOf(t, h)
			wantStates(t, before, host.UndoOpen, "mail final", "put done", "burn final", "put done", "put done")
			if r := before.Effects[2].Reason; r != "it is ashes" || before.Effects[0].Reason == "" {
				t.Errorf("reasons %+v", before.Effects)
			}
			wantStates(t, undo(t, h, before.RunID), host.UndoDone, "mail final", "put reverted", "burn final", "put reverted", "put reverted")
			wantStates(t, undo(t, h, before.RunID), host.UndoDone, "mail final", "put reverted", "burn final", "put reverted", "put reverted")
			now := s.read()
			if d := cmp.Diff([]string{"put a", "put b", "put c", "restore c", "restore b", "restore a"}, now.Log); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(map[string]string{"a": "", "b": "", "c": ""}, now.Values); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestUndoIsNoProgram: the newest program that can be saved is still the session's program,
// and not a program that undo has run.
func TestUndoIsNoProgram(t *testing.T) {
	t.Parallel()
	s := newShelf(t.TempDir())
	h := start(t, host.Config{Tools: s.tools(), Programs: host.ProgramConfig{Store: &programs.Memory{}}})
	wantValue(t, exec(h, shelving), "null")
	undo(t, h, effectsOf(t, h).RunID)
	p, err := h.Programs().Save(t.Context(), me, programs.Request{RunID: "last", Name: "shelving"}, "test")
	if err != nil || p.Code != shelving {
		t.Errorf("saved %+v, %v", p, err)
	}
}

// TestOtherRunsHaveNoJournal: a run that calls no such tool leaves nothing.
func TestOtherRunsHaveNoJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := start(t, host.Config{Tools: newShelf(t.TempDir()).tools(), Store: openState(t, dir)})
	wantValue(t, exec(h, `await tools.mail(); await tools.look()`), "null")
	if left, err := filepath.Glob(filepath.Join(dir, "*effects*")); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
	_, err := h.Effects().Undo(t.Context(), me, "run_0123456789abcdef0123456789abcdef", host.UndoOptions{})
	var e *host.Error
	if !errors.As(err, &e) || e.Reason != codemode.ReasonRunUnavailable {
		t.Errorf("got %v", err)
	}
}

// TestVeryManyEffectsAreCounted: before the first call that can be undone, a run keeps
// the first 256 others, and says how many more there were.
func TestVeryManyEffectsAreCounted(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: newShelf(t.TempDir()).tools()})
	wantValue(t, exec(h, `for (let i = 0; i < 300; i++) await tools.mail(); await tools.put({name: "a", value: "1"})`), "null")
	j := effectsOf(t, h)
	wantStates(t, j, host.UndoOpen, append(slices.Repeat([]string{"mail final"}, 256), "put done")...)
	if j.Omitted != 44 {
		t.Errorf("%d calls are omitted", j.Omitted)
	}
}

// TestUndoStopsAtAFailure and continues later, or without what a person has skipped.
func TestUndoStopsAtAFailure(t *testing.T) {
	t.Parallel()
	s := newShelf(t.TempDir())
	h := start(t, host.Config{Tools: s.tools()})
	wantValue(t, exec(h, shelving), "null")
	run := effectsOf(t, h).RunID
	s.refuse["b"] = true
	for range 2 {
		j := undo(t, h, run)
		wantStates(t, j, host.UndoStopped, "mail final", "put done", "burn final", "put failed", "put reverted")
		if got := j.Effects[3].Reason; got != "the shelf is locked" {
			t.Errorf("reason %q", got)
		}
	}
	s.refuse["b"] = false
	wantStates(t, undo(t, h, run), host.UndoDone, "mail final", "put reverted", "burn final", "put reverted", "put reverted")
	if d := cmp.Diff([]string{"put a", "put b", "put c", "restore c", "restore b", "restore a"}, s.read().Log); d != "" {
		t.Error(d)
	}

	wantValue(t, exec(h, `await tools.put({name: "d", value: "1"}); await tools.put({name: "e", value: "1"})`), "null")
	list, err := h.Effects().List(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("%d journals, %v", len(list), err)
	}
	run = list[1].RunID
	s.refuse["e"] = true
	j := undo(t, h, run)
	wantStates(t, j, host.UndoStopped, "put done", "put failed")
	wantStates(t, undo(t, h, run, j.Effects[1].CallID), host.UndoDone, "put reverted", "put skipped")
	wantStates(t, undo(t, h, run, j.Effects[1].CallID), host.UndoDone, "put reverted", "put skipped") // as after a crash
	if _, err := h.Effects().Undo(t.Context(), me, run, host.UndoOptions{Skip: []string{"bridge:call:9"}}); err == nil {
		t.Error("a call that is not there was skipped")
	}
}

// TestUndoIsForTheSession of the run, and for runs that have ended.
func TestUndoIsForTheSession(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: newShelf(t.TempDir()).tools(), Store: openState(t, t.TempDir())})
	waiting := wantWaiting(t, exec(h, `await tools.put({name: "a", value: "1"}); await yield_control(); await tools.put({name: "b", value: "1"})`), codemode.ReasonYield)
	var e *host.Error
	if _, err := h.Effects().Undo(t.Context(), me, waiting, host.UndoOptions{}); !errors.As(err, &e) || e.Reason != codemode.ReasonRunBusy {
		t.Errorf("a run that waits: %v", err)
	}
	wantValue(t, h.Wait(t.Context(), me, waiting), "null")
	if _, err := h.Effects().Undo(t.Context(), host.Session{SessionID: "other"}, waiting, host.UndoOptions{}); !errors.As(err, &e) || e.Reason != codemode.ReasonWrongSession {
		t.Errorf("another session: %v", err)
	}
	wantStates(t, undo(t, h, waiting), host.UndoDone, "put reverted", "put reverted")
}

// TestUndoNeedsWhatCallsNeed: rules and approvals hold for inverses.
func TestUndoNeedsWhatCallsNeed(t *testing.T) {
	t.Parallel()
	s, desk, store := newShelf(t.TempDir()), newDesk(), openState(t, t.TempDir())
	cfg := desk.config(s.tools(), asks(policy.ApprovalRequest{Title: "Restore?"}, "restore"))
	cfg.Store = store
	h := start(t, cfg)
	wantValue(t, exec(h, `await tools.put({name: "a", value: "1"})`), "null")
	run := effectsOf(t, h).RunID
	j := undo(t, h, run)
	wantStates(t, j, host.UndoWaiting, "put reverting")
	if j.Waiting == nil || j.Waiting.Reason != codemode.ReasonApproval || len(s.read().Log) != 1 {
		t.Fatalf("waiting %+v, log %q", j.Waiting, s.read().Log)
	}
	decide(t, h, (<-desk.asked).ID, policy.Deny)
	wantStates(t, undo(t, h, run), host.UndoStopped, "put failed")
	wantStates(t, undo(t, h, run), host.UndoWaiting, "put reverting")
	decide(t, h, (<-desk.asked).ID, policy.AllowOnce)
	wantStates(t, undo(t, h, run), host.UndoDone, "put reverted")

	denied := start(t, host.Config{Tools: s.tools(), Store: store, Rules: policy.Scopes{Rules: policy.Rules{Deny: []string{"restore"}}}})
	wantValue(t, exec(denied, `await tools.put({name: "a", value: "2"})`), "null")
	list, err := denied.Effects().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run = list[len(list)-1].RunID
	wantStates(t, undo(t, denied, run), host.UndoStopped, "put failed")
	if s.read().Values["a"] != "2" {
		t.Error("a denied tool was called")
	}
}

// doomedUndoKey makes the test binary a host that undoes a run in the directory it
// names, and is killed when the second inverse has taken effect.
const doomedUndoKey = "QUOIN_TEST_DOOMED_UNDO"

func undoHost(dir string, s *shelf) (*host.Host, error) {
	store, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	return host.New(context.Background(), host.Config{
		Guests: host.GuestConfig{Path: os.Getenv(doomedGuest)},
		Store:  store, Tools: s.tools(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

// doomedUndo is the whole life of that host.
func doomedUndo(dir string) error {
	s := newShelf(dir)
	h, err := undoHost(dir, s)
	if err != nil {
		return err
	}
	if r := exec(h, shelving); r.Status != host.StatusCompleted {
		return fmt.Errorf("got %s", show(r))
	}
	list, err := h.Effects().List(context.Background())
	if err != nil {
		return err
	}
	fmt.Println(list[0].RunID)
	stuck := make(chan struct{})
	s.stuck["b"] = stuck
	go h.Effects().Undo(context.Background(), me, list[0].RunID, host.UndoOptions{}) //nolint:errcheck // the process is killed
	<-stuck
	fmt.Println("ready")
	select {}
}

// TestUndoSurvivesSIGKILL: a host that is killed in the middle leaves an undo that another
// host continues, and each inverse takes effect once.
func TestUndoSurvivesSIGKILL(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	run := killedHost(t, doomedUndoKey+"="+dir)
	s := newShelf(dir)
	h := start(t, host.Config{Tools: s.tools(), Store: openState(t, dir)})
	left, err := h.Effects().Get(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	wantStates(t, left, host.UndoOpen, "mail final", "put done", "burn final", "put reverting", "put reverted")
	wantStates(t, undo(t, h, run), host.UndoDone, "mail final", "put reverted", "burn final", "put reverted", "put reverted")
	log := s.read().Log
	if d := cmp.Diff([]string{"restore c", "restore b", "restore a"}, log[slices.Index(log, "restore c"):]); d != "" {
		t.Error(d)
	}
}
