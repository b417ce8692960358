package statemove_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/internal/statemove"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/pluginstorage"
)

const grantID = "grt_0123456789abcdef0123456789abcdef"

// whole is a state with documents and storages, and with what hosts use them by.
type whole struct {
	statemove.State
	programs *programs.Stored
	signIns  documents.Store
	pins     documents.Store
	storage  *pluginstorage.File // of the plugin
}

func openWhole(t *testing.T) *whole {
	t.Helper()
	path := t.TempDir()
	s, runs := openAt(t, path)
	w := &whole{State: s}
	w.programs = must(programs.OpenDir(t.TempDir(), runs))(t)
	dir := must(documents.OpenDir(t.TempDir(), documents.DirOptions{Private: true}))(t)
	w.signIns = documents.Sealed(dir, documents.Encrypted(must(runs.Cipher("mcp sign-ins"))(t)))
	w.pins = must(documents.OpenDir(t.TempDir(), documents.DirOptions{}))(t)
	w.Documents = slices.Concat(
		[]documents.Portable{{Store: w.pins, Kind: "pins", Ext: ".json", Stays: true}, {Store: w.signIns, Kind: "registration", Ext: ".client", Stays: true, Remade: true}},
		w.programs.Portable(), s.Approvals.(*policy.StoredApprovals).Portable(),
		[]documents.Portable{{Store: w.signIns, Kind: "sign-in", Ext: ".grant", Locked: true}})
	stores := t.TempDir()
	w.storage = pluginstorage.Open(filepath.Join(stores, "plugin.kv"), func(err error) { t.Error(err) })
	t.Cleanup(func() {
		if err := w.storage.Close(); err != nil {
			t.Error(err)
		}
	})
	w.Storages = statemove.Storages{
		IDs:  func(context.Context) ([]string, error) { return []string{"plugin"}, nil },
		Open: func(string) (pluginstorage.Movable, func() error) { return w.storage, func() error { return nil } },
	}
	return w
}

// fillWhole stores one of everything that hosts share apart from runs.
func fillWhole(t *testing.T, w *whole) {
	t.Helper()
	ctx := t.Context()
	program := &programs.Program{Name: "weekly", For: programs.ForEveryone, Language: "js", Code: "return 1"}
	_, err := w.storage.Set(ctx, "key", []byte("value"), nil)
	if err := errors.Join(err,
		w.Approvals.Remember(ctx, policy.Grant{ID: grantID, Severity: policy.SeverityWarning, Created: time.Now()}),
		w.programs.Put(ctx, program, false),
		w.programs.Keep(ctx, &programs.Kept{RunID: runID, Language: "js", Code: "return 2", At: time.Now(), Expires: time.Now().Add(time.Hour)}),
		w.signIns.Create(ctx, "a.grant", []byte(`{"Access":"token"}`), time.Time{}),
		w.signIns.Create(ctx, "a.client", []byte(`{"ID":"client"}`), time.Time{}),
		w.pins.Create(ctx, "github.json", []byte(`{"format":1}`), time.Time{}),
	); err != nil {
		t.Fatal(err)
	}
}

// has says what hosts of a state can use.
func (w *whole) has(t *testing.T) (out []string) {
	t.Helper()
	ctx := t.Context()
	if _, err := w.Approvals.Grant(ctx, grantID); err == nil {
		out = append(out, "grant")
	}
	if kept, err := w.programs.Kept(ctx, runID); err == nil && kept.Code == "return 2" && time.Until(kept.Expires) > 0 {
		out = append(out, "kept")
	}
	if list, err := w.programs.List(ctx); err == nil && len(list) == 1 && list[0].Code == "return 1" {
		out = append(out, "program")
	}
	if b, err := w.signIns.Read(ctx, "a.grant"); err == nil && string(b) == `{"Access":"token"}` {
		out = append(out, "sign-in")
	}
	if e, err := w.storage.Get(ctx, "key"); err == nil && string(e.Value) == "value" {
		out = append(out, "storage")
	}
	return out
}

const everything = "grant kept program sign-in storage"

func checkMoved(t *testing.T, from, to *whole) {
	t.Helper()
	if got := strings.Join(to.has(t), " "); got != everything {
		t.Errorf("the destination has %s", got)
	}
	if got := from.has(t); len(got) > 0 {
		t.Errorf("the source has %s", got)
	}
	for _, w := range []*whole{from, to} { // hosts of both still compare
		_, err := w.pins.Read(t.Context(), "github.json")
		_, err2 := w.signIns.Read(t.Context(), "a.client")
		if err := errors.Join(err, err2); err != nil {
			t.Error(err)
		}
	}
}

// outcomes are what an operation says.
func outcomes(t *testing.T, do func(context.Context, func(statemove.Outcome) error) error) (did []string) {
	t.Helper()
	if err := do(t.Context(), func(o statemove.Outcome) error {
		did = append(did, strings.TrimSuffix(fmt.Sprintf("%s %s %s: %s", o.Kind, o.ID, o.What, o.Reason), ": "))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return did
}

// TestMoveOfEverything carries documents and storages, sealed with another key, and a
// second move finds nothing to do.
func TestMoveOfEverything(t *testing.T) {
	from, to := openWhole(t), openWhole(t)
	fillWhole(t, from)
	m := statemove.Mover{From: from.State, To: to.State}
	want := []string{"pins github copied", "registration a copied", "program weekly moved", "program of run_1 moved", "grant " + grantID + " moved", "sign-in a moved", "storage of plugin plugin moved"}
	if did := outcomes(t, m.Move); !slices.Equal(did, want) {
		t.Errorf("did %q", did)
	}
	checkMoved(t, from, to)
	if did := outcomes(t, m.Move); len(did) > 0 {
		t.Errorf("the second move did %q", did)
	}
	back := statemove.Mover{From: to.State, To: from.State}
	outcomes(t, back.Move)
	checkMoved(t, to, from)
}

// TestInterruptedDocuments: whichever write a move is interrupted at, nothing but the
// storage of a plugin can be used in both states, nothing is lost, what a person revokes
// then stays revoked, and the next move brings the rest.
func TestInterruptedDocuments(t *testing.T) {
	for _, revoke := range []bool{false, true} {
		for _, after := range []bool{false, true} {
			for at := 1; !revoke || !after; at++ { // what is revoked after a write is before the next
				t.Run(fmt.Sprint(at, after, revoke), func(t *testing.T) {
					from, to := openWhole(t), openWhole(t)
					fillWhole(t, from)
					f := &faults{left: at, after: after}
					m := statemove.Mover{From: f.around(from.State), To: f.around(to.State)}
					if err := m.Move(t.Context(), func(statemove.Outcome) error { return nil }); err != nil && !errors.Is(err, errInjected) {
						t.Fatal(err)
					}
					for _, what := range from.has(t) {
						if what != "storage" && slices.Contains(to.has(t), what) {
							t.Errorf("both have %s", what)
						}
					}
					revoked := revoke && (from.Approvals.Forget(t.Context(), grantID) == nil || to.Approvals.Forget(t.Context(), grantID) == nil)
					m = statemove.Mover{From: from.State, To: to.State}
					for _, o := range outcomes(t, m.Move) {
						if strings.Contains(o, "left") {
							t.Error(o)
						}
					}
					if !revoked {
						checkMoved(t, from, to)
					} else if got := strings.Join(to.has(t), " "); got != "kept program sign-in storage" {
						t.Errorf("a grant was revoked, and the destination has %s", got)
					}
					if f.left > 0 {
						at = -at // every write had its turn
					}
				})
				if at < 0 {
					if at > -20 {
						t.Errorf("only %d writes", -at)
					}
					break
				}
			}
		}
	}
}

// TestWhatTheDestinationHasCounts: nothing there is overwritten, what is left can be used,
// and the reason is said.
func TestWhatTheDestinationHasCounts(t *testing.T) {
	from, to := openWhole(t), openWhole(t)
	fillWhole(t, from)
	ctx := t.Context()
	_, err := to.storage.Set(ctx, "other", []byte("other"), nil)
	if err := errors.Join(err,
		to.programs.Put(ctx, &programs.Program{Name: "weekly", For: programs.ForEveryone, Language: "js", Code: "return 3"}, false),
		to.signIns.Create(ctx, "a.grant", []byte(`{"Access":"newer"}`), time.Time{}),
		to.signIns.Create(ctx, "a.client", []byte(`{"ID":"own"}`), time.Time{}),
		to.programs.Keep(ctx, &programs.Kept{RunID: runID, Language: "js", Code: "return 5", At: time.Now(), Expires: time.Now().Add(time.Hour)}),
		to.pins.Create(ctx, "github.json", []byte(`{"format":2}`), time.Time{})); err != nil {
		t.Fatal(err)
	}
	const other = "left: the destination has another one, which counts there; this one stays where it is"
	want := []string{"pins github " + other, "program weekly " + other, "grant " + grantID + " moved", "sign-in a " + other,
		"storage of plugin plugin left: the destination has other contents for this plugin, which count there; these stay where they are"}
	m := statemove.Mover{From: from.State, To: to.State}
	if did := outcomes(t, m.Move); !slices.Equal(did, want) {
		t.Errorf("did %q", did)
	}
	if got := strings.Join(from.has(t), " "); got != "kept program sign-in storage" {
		t.Errorf("the source has %s", got)
	}
	b, err := to.signIns.Read(ctx, "a.grant")
	if list, listErr := to.programs.List(ctx); err != nil || listErr != nil || string(b) != `{"Access":"newer"}` || list[0].Code != "return 3" {
		t.Errorf("the destination has %s, %v, %v, %v", b, err, list, listErr)
	}
}

// TestCopiesOfEverything: hosts do not use an export, and an import takes what is not there.
func TestCopiesOfEverything(t *testing.T) {
	from, exported, to := openWhole(t), openWhole(t), openWhole(t)
	fillWhole(t, from)
	out := statemove.Mover{From: from.State, To: exported.State}
	outcomes(t, out.Copy)
	if did := outcomes(t, out.Copy); len(did) > 0 {
		t.Errorf("the second export did %q", did)
	}
	if got := strings.Join(from.has(t), " "); got != everything {
		t.Errorf("the source has %s", got)
	}
	if got := strings.Join(exported.has(t), " "); got != "storage" {
		t.Errorf("hosts could use %s of the export", got)
	}
	if err := to.programs.Put(t.Context(), &programs.Program{Name: "daily", For: programs.ForEveryone, Language: "js", Code: "return 4"}, false); err != nil {
		t.Fatal(err)
	}
	in := statemove.Mover{From: exported.State, To: to.State}
	outcomes(t, in.Import)
	if did := outcomes(t, in.Import); len(did) > 0 {
		t.Errorf("the second import did %q", did)
	}
	list, err := to.programs.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	for _, o := range outcomes(t, (&statemove.Mover{From: exported.State, To: openWhole(t).State}).Move) {
		if !strings.Contains(o, "copy") && strings.Contains(o, "grant") {
			t.Errorf("a copy was moved: %s", o)
		}
	}
}

// TestAMoveWaitsForTheRenewalOfASignIn, which holds its lock.
func TestAMoveWaitsForTheRenewalOfASignIn(t *testing.T) {
	from, to := openWhole(t), openWhole(t)
	fillWhole(t, from)
	held, unlock, err := from.signIns.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	var moved bool
	m := statemove.Mover{From: from.State, To: to.State}
	done := make(chan error, 1)
	go func() {
		done <- m.Move(t.Context(), func(o statemove.Outcome) error {
			if o.Kind == "grant" { // the sign-in is next
				if err := from.signIns.Replace(held, "a.grant", []byte(`{"Access":"renewed"}`), time.Time{}); err != nil {
					return err
				}
				unlock()
			}
			moved = moved || o.Kind == "sign-in"
			return nil
		})
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if b, err := to.signIns.Read(t.Context(), "a.grant"); !moved || err != nil || string(b) != `{"Access":"renewed"}` {
		t.Errorf("%v, %s, %v", moved, b, err)
	}
}

// documents returns documents with writes that can fail.
func (f *faults) documents(list []documents.Portable) []documents.Portable {
	out := slices.Clone(list)
	for i := range out {
		out[i].Store = &faultyDocuments{out[i].Store, f}
	}
	return out
}

type faultyDocuments struct {
	documents.Store
	f *faults
}

func (d *faultyDocuments) Create(ctx context.Context, name string, content []byte, expires time.Time) error {
	return d.f.do(func() error { return d.Store.Create(ctx, name, content, expires) })
}

func (d *faultyDocuments) Replace(ctx context.Context, name string, content []byte, expires time.Time) error {
	return d.f.do(func() error { return d.Store.Replace(ctx, name, content, expires) })
}

func (d *faultyDocuments) Remove(ctx context.Context, names ...string) error {
	return d.f.do(func() error { return d.Store.Remove(ctx, names...) })
}

// storages returns storages with swaps that can fail.
func (f *faults) storages(s statemove.Storages) statemove.Storages {
	if s.IDs == nil {
		return s
	}
	return statemove.Storages{IDs: s.IDs, Open: func(id string) (pluginstorage.Movable, func() error) {
		movable, end := s.Open(id)
		return &faultyStorage{movable, f}, end
	}}
}

type faultyStorage struct {
	pluginstorage.Movable
	f *faults
}

func (s *faultyStorage) Swap(ctx context.Context, old, next pluginstorage.Contents) error {
	return s.f.do(func() error { return s.Movable.Swap(ctx, old, next) })
}

// TestAPluginThatWrites to its storage while that is moved: what it writes arrives, too.
func TestAPluginThatWrites(t *testing.T) {
	from, to := openWhole(t), openWhole(t)
	fillWhole(t, from)
	src := from.State
	src.Storages.Open = func(string) (pluginstorage.Movable, func() error) {
		return &writing{Movable: from.storage, times: 3}, func() error { return nil }
	}
	m := statemove.Mover{From: src, To: to.State}
	outcomes(t, m.Move)
	checkMoved(t, from, to)
	if e, err := to.storage.Get(t.Context(), "late1"); err != nil || string(e.Value) != "late" {
		t.Errorf("%s, %v", e.Value, err)
	}

	// One that does not stop keeps what it has.
	again := statemove.Mover{From: to.State, To: from.State}
	again.From.Storages.Open = func(string) (pluginstorage.Movable, func() error) {
		return &writing{Movable: to.storage, times: 1000}, func() error { return nil }
	}
	did := outcomes(t, again.Move)
	if last := did[len(did)-1]; !strings.Contains(last, "left: the plugin writes to it all the time") {
		t.Errorf("did %q", did)
	}
	if e, err := from.storage.Get(t.Context(), "key"); err != nil || e.Revision != 0 {
		t.Errorf("the destination has %s, %v", e.Value, err)
	}
	if e, err := to.storage.Get(t.Context(), "key"); err != nil || string(e.Value) != "value" {
		t.Errorf("the source has %s, %v", e.Value, err)
	}
}

// writing is a storage that its plugin writes to before it is emptied.
type writing struct {
	pluginstorage.Movable
	times int
}

func (w *writing) Swap(ctx context.Context, old, next pluginstorage.Contents) error {
	if w.times--; w.times >= 0 {
		if _, err := w.Set(ctx, fmt.Sprint("late", w.times), []byte("late"), nil); err != nil {
			return err
		}
	}
	return w.Movable.Swap(ctx, old, next)
}

// TestADamagedDocumentIsLeft, and the rest goes.
func TestADamagedDocumentIsLeft(t *testing.T) {
	from, to := openWhole(t), openWhole(t)
	fillWhole(t, from)
	for i, p := range from.Documents {
		if p.Kind == "pins" {
			from.Documents[i].Store = damaged{p.Store}
		}
	}
	m := statemove.Mover{From: from.State, To: to.State}
	if did := outcomes(t, m.Move); !strings.HasPrefix(did[0], "pins github left: document is damaged") {
		t.Errorf("did %q", did)
	}
	if got := strings.Join(to.has(t), " "); got != everything {
		t.Errorf("the destination has %s", got)
	}
}

type damaged struct{ documents.Store }

func (d damaged) Read(context.Context, string) ([]byte, error) { return nil, documents.ErrCorrupt }

// readThen is a store that does something when it has read a grant.
type readThen struct {
	documents.Store
	then func()
}

func (s *readThen) Read(ctx context.Context, name string) ([]byte, error) {
	b, err := s.Store.Read(ctx, name)
	if then := s.then; then != nil && strings.HasSuffix(name, ".grant") {
		s.then = nil
		then()
	}
	return b, err
}

// TestARevocationInTheMiddleOfAMove: a grant is revoked, or it is not, and then it arrives.
func TestARevocationInTheMiddleOfAMove(t *testing.T) {
	from, to := openWhole(t), openWhole(t)
	fillWhole(t, from)
	source := from.State
	source.Documents = slices.Clone(source.Documents)
	var revoked error
	for i, d := range source.Documents {
		if d.Kind == "grant" {
			source.Documents[i].Store = &readThen{d.Store, func() {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				revoked = from.Approvals.Forget(ctx, grantID)
			}}
		}
	}
	m := statemove.Mover{From: source, To: to.State}
	outcomes(t, m.Move)
	if _, err := to.Approvals.Grant(t.Context(), grantID); revoked == nil && err == nil {
		t.Error("the grant was revoked, and has arrived")
	} else if revoked != nil && err != nil {
		t.Errorf("the grant was not revoked (%v), and has not arrived: %v", revoked, err)
	}
}

// TestADamagedStorageIsLeft: the rest goes.
func TestADamagedStorageIsLeft(t *testing.T) {
	from, to := openWhole(t), openWhole(t)
	fillWhole(t, from)
	path := filepath.Join(t.TempDir(), "damaged.storage")
	if err := os.WriteFile(path, []byte("no storage"), 0o600); err != nil {
		t.Fatal(err)
	}
	source := from.State
	source.Storages.Open = func(string) (pluginstorage.Movable, func() error) {
		f := pluginstorage.Open(path, func(err error) { t.Log(err) })
		return f, f.Close
	}
	m := statemove.Mover{From: source, To: to.State}
	did := strings.Join(outcomes(t, m.Move), "\n")
	if !strings.Contains(did, "it cannot be read or written") {
		t.Errorf("the storage is not said to be left:\n%s", did)
	}
	if _, err := to.Approvals.Grant(t.Context(), grantID); err != nil {
		t.Errorf("the grant has not arrived: %v", err)
	}
}
