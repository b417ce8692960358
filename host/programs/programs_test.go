package programs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/host/runstore"
)

var me = codemode.Session{AgentID: "scout", SessionID: "ada"}

// each runs a test against every store.
var each = func(t *testing.T, test func(*testing.T, programs.Store)) {
	t.Run("Memory", func(t *testing.T) { test(t, &programs.Memory{}) })
	t.Run("Dir", func(t *testing.T) { test(t, openDir(t, t.TempDir())) })
}

func openDir(t testing.TB, path string) *programs.Stored {
	t.Helper()
	runs, err := runstore.OpenDir(filepath.Join(path, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := programs.OpenDir(filepath.Join(path, "programs"), runs)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// kept is the program of a run that has completed n minutes after noon.
func kept(n int) *programs.Kept {
	at := time.Now().Add(time.Duration(n) * time.Second)
	return &programs.Kept{RunID: fmt.Sprintf("run_%d", n), Session: me, Language: "javascript", Code: fmt.Sprintf("return %d", n), Completed: true, At: at, Expires: at.Add(time.Hour)}
}

func keep(t *testing.T, st programs.Store, list ...*programs.Kept) {
	t.Helper()
	for _, k := range list {
		if err := st.Keep(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
}

func save(t *testing.T, st programs.Store, rq programs.Request) (*programs.Program, error) {
	t.Helper()
	return programs.Save(t.Context(), st, &me, rq, "test", time.Now())
}

// TestKeptPrograms: a store keeps the program of a run, also when only its end is told
// later, for so long, and so many of them.
func TestKeptPrograms(t *testing.T) {
	each(t, func(t *testing.T, st programs.Store) {
		begun, ended := kept(1), kept(1)
		begun.Completed, ended.Code, ended.Language = false, "", ""
		ended.Tools = []programs.Tool{{ID: "quoin:core:echo", Digest: "d"}}
		keep(t, st, begun)
		if _, err := save(t, st, programs.Request{RunID: "run_1", Name: "early"}); !errors.Is(err, programs.Invalid) {
			t.Errorf("a run that goes on: %v", err)
		}
		keep(t, st, ended)
		p, err := save(t, st, programs.Request{RunID: "run_1", Name: "late"})
		if err != nil || p.Code != "return 1" || p.Language != "javascript" || len(p.Tools) != 1 {
			t.Fatalf("%+v, %v", p, err)
		}
		over := kept(2)
		over.Expires = time.Now().Add(-time.Second)
		unknown, large := kept(3), kept(4)
		unknown.Code, large.Code = "", strings.Repeat("x", programs.MaxCode+1)
		keep(t, st, over, unknown, large)
		for _, id := range []string{"run_2", "run_3", "run_4", "run_5", "../run_1", ""} {
			if _, err := st.Kept(t.Context(), id); !errors.Is(err, programs.NotFound) {
				t.Errorf("run %q: %v", id, err)
			}
		}
		keep(t, st, kept(10), kept(11))
		if p, err := save(t, st, programs.Request{Name: "newest"}); err != nil || p.Code != "return 11" {
			t.Errorf("the newest is %+v, %v", p, err)
		}
	})
}

// TestOldProgramsMakeRoom: no more than MaxKept are kept, and the newest stay.
func TestOldProgramsMakeRoom(t *testing.T) {
	each(t, func(t *testing.T, st programs.Store) {
		for n := range programs.MaxKept + 3 {
			keep(t, st, kept(n))
		}
		list, err := st.AllKept(t.Context())
		if err != nil || len(list) > programs.MaxKept {
			t.Fatalf("%d are kept, %v", len(list), err)
		}
		if _, err := st.Kept(t.Context(), fmt.Sprintf("run_%d", programs.MaxKept+2)); err != nil {
			t.Errorf("the newest: %v", err)
		}
	})
}

// TestExpiredProgramsLeaveTheDisk: not only lists, though no one asks for them.
func TestExpiredProgramsLeaveTheDisk(t *testing.T) {
	path := t.TempDir()
	over := kept(1)
	over.Expires = time.Now().Add(-time.Second)
	keep(t, openDir(t, path), kept(2), over)
	keep(t, openDir(t, path), kept(3)) // a later process
	files, err := filepath.Glob(filepath.Join(path, "programs", "kept", "*"))
	if err != nil || len(files) != 2 || filepath.Base(files[0]) != "run_2.kept" {
		t.Errorf("left %q, %v", files, err)
	}
}

// TestSaveRefuses: what cannot be saved is refused with what was expected.
func TestSaveRefuses(t *testing.T) {
	each(t, func(t *testing.T, st programs.Store) {
		if _, err := save(t, st, programs.Request{Name: "nothing"}); !errors.Is(err, programs.NotFound) {
			t.Errorf("without a run: %v", err)
		}
		other := kept(1)
		other.Session, other.RunID = codemode.Session{SessionID: "eve"}, "run_eve"
		noAgent := kept(3)
		noAgent.Session, noAgent.RunID = codemode.Session{}, "run_none"
		keep(t, st, other, kept(2), noAgent)
		for _, tc := range []struct {
			rq   programs.Request
			code programs.Code
			want string
		}{
			{programs.Request{Name: "of-eve", RunID: "run_eve"}, programs.NotFound, "is not kept"},
			{programs.Request{Name: "two words"}, programs.Invalid, "such as weekly-report"},
			{programs.Request{Name: strings.Repeat("a", 65)}, programs.Invalid, "at most 63"},
			{programs.Request{Name: "a", Input: json.RawMessage(`{"type":"object"}`), Example: json.RawMessage(`{}`)}, programs.Invalid, "both input and example"},
			{programs.Request{Name: "a", Input: json.RawMessage(`{"type":"string"}`)}, programs.Invalid, "not one of an object"},
			{programs.Request{Name: "a", Input: json.RawMessage(`{"type":"object","properties":7}`)}, programs.Invalid, "cannot be used"},
			{programs.Request{Name: "a", Input: json.RawMessage(`{"type":`)}, programs.Invalid, "not one of an object"},
			{programs.Request{Name: "a", Example: json.RawMessage(`[1]`)}, programs.Invalid, "no JSON object"},
			{programs.Request{Name: "a", For: "friends"}, programs.Invalid, "expected session, agent or everyone"},
		} {
			if _, err := save(t, st, tc.rq); !errors.Is(err, tc.code) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%+v: %v, want %q", tc.rq, err, tc.want)
			}
		}
		if _, err := programs.Save(t.Context(), st, nil, programs.Request{RunID: "run_none", Name: "a", For: programs.ForAgent}, "test", time.Now()); !errors.Is(err, programs.Invalid) {
			t.Errorf("for an agent that there is not: %v", err)
		}
	})
}

// TestInputs: the schema of an input is the one given, one made of an example, or what the
// text of the program says.
func TestInputs(t *testing.T) {
	st := &programs.Memory{}
	for i, tc := range []struct {
		code string
		rq   programs.Request
		want string
	}{
		{`return 1`, programs.Request{}, `{"type":"object","properties":{},"additionalProperties":false}`},
		{`return programs.input()`, programs.Request{}, `{"type":"object"}`},
		{`return inputs`, programs.Request{}, `{"type":"object","properties":{},"additionalProperties":false}`},
		{`return 1`, programs.Request{Input: json.RawMessage("{ \"type\": \"object\",\n\"required\": [\"a\"] }")}, `{"type":"object","required":["a"]}`},
		{`return 1`, programs.Request{Example: json.RawMessage(`{"a":1,"b":1.5,"c":"x","d":true,"e":[{"f":null}],"g":[]}`)},
			`{"additionalProperties":false,"properties":{"a":{"type":"integer"},"b":{"type":"number"},"c":{"type":"string"},"d":{"type":"boolean"},"e":{"items":{"additionalProperties":false,"properties":{"f":{}},"type":"object"},"type":"array"},"g":{"type":"array"}},"type":"object"}`},
	} {
		k := kept(i)
		k.Code = tc.code
		keep(t, st, k)
		tc.rq.Name = fmt.Sprintf("p%d", i)
		if p, err := save(t, st, tc.rq); err != nil || string(p.Input) != tc.want {
			t.Errorf("%s: %v\n got %s\nwant %s", tc.code, err, p.Input, tc.want)
		}
	}
}

// TestOneNameOnce: of several that save one name at the same time exactly one succeeds,
// and a removal makes room for another.
func TestOneNameOnce(t *testing.T) {
	each(t, func(t *testing.T, st programs.Store) {
		keep(t, st, kept(1))
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() { _, errs[i] = save(t, st, programs.Request{Name: "one"}) })
		}
		wg.Wait()
		saved := 0
		for _, err := range errs {
			if err == nil {
				saved++
			} else if !errors.Is(err, programs.Exists) {
				t.Error(err)
			}
		}
		if saved != 1 {
			t.Errorf("%d saves of one name have succeeded", saved)
		}
		p, err := programs.Find(t.Context(), st, me, "one")
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Remove(t.Context(), p); err != nil {
			t.Error(err)
		}
		if err := st.Remove(t.Context(), p); !errors.Is(err, programs.NotFound) {
			t.Errorf("removed twice: %v", err)
		}
		if _, err := programs.Find(t.Context(), st, me, "one"); !errors.Is(err, programs.NotFound) {
			t.Errorf("found after its removal: %v", err)
		}
		if _, err := save(t, st, programs.Request{Name: "one", Replace: true}); err != nil {
			t.Error(err)
		}
	})
}

// TestModelsReplaceNoProgramOfAPerson, also one that was saved after the model has looked.
func TestModelsReplaceNoProgramOfAPerson(t *testing.T) {
	each(t, func(t *testing.T, st programs.Store) {
		keep(t, st, kept(1))
		first, err := save(t, st, programs.Request{Name: "one"})
		if err != nil {
			t.Fatal(err)
		}
		ofModel := *first
		ofModel.By = programs.ByModel
		if err := st.Put(t.Context(), &ofModel, true); !errors.Is(err, programs.Exists) {
			t.Errorf("a model replaces the program of a person: %v", err)
		}
		if p, err := programs.Find(t.Context(), st, me, "one"); err != nil || p.By != first.By {
			t.Errorf("%+v, %v", p, err)
		}
		if err := st.Remove(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*programs.Program{&ofModel, &ofModel, first} {
			if err := st.Put(t.Context(), p, true); err != nil {
				t.Errorf("after that of the person is gone, by %q: %v", p.By, err)
			}
		}
	})
}

// TestUpdateReplacesWhatWasRead, and nothing that was saved since.
func TestUpdateReplacesWhatWasRead(t *testing.T) {
	each(t, func(t *testing.T, st programs.Store) {
		keep(t, st, kept(1))
		if _, err := save(t, st, programs.Request{Name: "one"}); err != nil {
			t.Fatal(err)
		}
		was, err := programs.Find(t.Context(), st, me, "one")
		if err != nil {
			t.Fatal(err)
		}
		accepted := *was
		accepted.By = "ada"
		for i, want := range []error{nil, programs.Changed} {
			if err := st.Update(t.Context(), was, &accepted); !errors.Is(err, want) {
				t.Errorf("update %d of what was read: %v, want %v", i+1, err, want)
			}
		}
		if p, err := programs.Find(t.Context(), st, me, "one"); err != nil || p.By != "ada" || p.Code != was.Code {
			t.Errorf("%+v, %v", p, err)
		}
		if err := st.Remove(t.Context(), was); err != nil {
			t.Fatal(err)
		}
		if err := st.Update(t.Context(), &accepted, was); !errors.Is(err, programs.NotFound) {
			t.Errorf("of one that was removed: %v, want NotFound", err)
		}
	})
}

// TestDirIsShared: what one process saves another finds, and what one has removed is gone.
func TestDirIsShared(t *testing.T) {
	path := t.TempDir()
	areShared(t, openDir(t, path), openDir(t, path))
}

// areShared checks that two stores are one.
func areShared(t *testing.T, one, two programs.Store) {
	t.Helper()
	keep(t, one, kept(1))
	for range 3 { // the list may have been read at the same instant
		if list, err := two.List(t.Context()); err != nil || len(list) != 0 {
			t.Fatalf("%d programs, %v", len(list), err)
		}
		p, err := save(t, one, programs.Request{Name: "shared"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := programs.Find(t.Context(), two, me, "shared"); err != nil || got.Code != p.Code {
			t.Fatalf("%+v, %v", got, err)
		}
		if err := two.Remove(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if list, err := one.List(t.Context()); err != nil || len(list) != 0 {
			t.Fatalf("%d programs after a removal, %v", len(list), err)
		}
	}
}

// TestDirBelievesNoFile: a file that was altered, renamed or put there is no program.
func TestDirBelievesNoFile(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path)
	keep(t, d, kept(1))
	if _, err := save(t, d, programs.Request{Name: "mine"}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(path, "programs", "*.program"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(files[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	write := func(name string, b []byte) {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 1
		write(files[0], bad)
		if list, err := openDir(t, path).List(t.Context()); err != nil || len(list) != 0 {
			t.Fatalf("byte %d: %d programs, %v", i, len(list), err)
		}
	}
	write(files[0], good)
	write(strings.Replace(files[0], "mine", "yours", 1), good)
	write(filepath.Join(path, "programs", "kept", "run_2.kept"), good)
	fresh := openDir(t, path)
	if list, err := fresh.List(t.Context()); err != nil || len(list) != 1 || list[0].Name != "mine" {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := fresh.AllKept(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}
