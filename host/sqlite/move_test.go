package sqlite_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/internal/statecopy"
	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/runstore/runstoretest"
	"github.com/quoinhq/quoin/host/sqlite"
)

// fill stores one of each kind.
func fill(t testing.TB, dir string) {
	t.Helper()
	ctx := t.Context()
	d := must(sqlite.Open(ctx, dir, sqlite.Options{}))(t)
	c := must(d.Create(ctx, runstoretest.Record("run_1", 1), 0))(t)
	check(t, c.PutCalls(ctx, 1, runstoretest.Settled(1, `"yes"`)))
	c.Release()
	c = must(d.Create(ctx, runstoretest.Record("run_2", 1), 0))(t)
	check(t, c.End(ctx, runstoretest.Ended("run_2", `{"status":"completed"}`)))
	c.Release()
	j := must(d.OpenEffects(ctx, "run_1", &runstore.Effects{Session: session, Created: time.Now(), Expires: time.Now().Add(time.Hour)}))(t)
	check(t, j.Put(true, runstore.Effect{Number: 1, CallID: "1", Tool: "t", State: runstore.EffectDone, Inverse: "u"}))
	j.Close()
	for _, of := range statedocs.Purposes() {
		docs := must(d.Copied().Documents(of))(t)
		check(t, docs.Create(ctx, "a.json", []byte(`{"store":"`+d.Identity()+`"}`), time.Now().Add(time.Hour)))
	}
	storage := d.PluginStorage("notes", func(err error) { t.Error(err) })
	for range 3 {
		must(storage.Set(ctx, "k", []byte("v"), nil))(t)
	}
	check(t, d.Close())
}

// contents are what a state has, a line each.
func contents(t testing.TB, dir string) (out []string) {
	t.Helper()
	ctx := t.Context()
	d := must(sqlite.Open(ctx, dir, sqlite.Options{Moving: true}))(t)
	defer func() { check(t, d.Close()) }()
	for _, i := range must(d.Items(ctx))(t) {
		switch i.Kind {
		case runstore.ItemRun:
			r := must(d.Get(ctx, i.ID))(t)
			out = append(out, fmt.Sprintf("run %s %x %s", r.ID, sha256.Sum256(r.Image), r.Calls[0].Answer))
		case runstore.ItemResult:
			out = append(out, fmt.Sprintf("result %s", must(d.Ended(ctx, i.ID))(t).Result))
		case runstore.ItemEffects:
			out = append(out, fmt.Sprintf("effects %d", len(must(d.Effects(ctx, i.ID))(t).Effects)))
		}
	}
	for _, of := range statedocs.Purposes() {
		for _, doc := range must(must(d.Copied().Documents(of))(t).All(ctx, ".json"))(t) {
			check(t, doc.Err)
			own := of != statedocs.Approvals || string(doc.Content) == `{"store":"`+d.Identity()+`"}`
			out = append(out, fmt.Sprintf("%s %s %v %v", of, doc.Name, own, time.Until(doc.Expires) > time.Minute))
		}
	}
	for _, id := range must(d.PluginStorages(ctx))(t) {
		e := must(d.PluginStorage(id, func(err error) { t.Error(err) }).Get(ctx, "k"))(t)
		out = append(out, fmt.Sprintf("storage %s %d", e.Value, e.Revision))
	}
	return out
}

// move moves a state, as a command does.
func move(ctx context.Context, from, to string, o sqlite.Options) (_ []statecopy.Outcome, err error) {
	o.Moving = true
	source, err := sqlite.Open(ctx, from, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	o.Moving = false
	other, err := sqlite.Open(ctx, to, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, other.Close()) }()
	return statecopy.Move(ctx, source.Copied(), other.Copied())
}

// hasMoved fails the test unless all is in the destination, and the pins alone in the source.
func hasMoved(t testing.TB, all []string, from, to string) {
	t.Helper()
	if diff := cmp.Diff(all, contents(t, to)); diff != "" {
		t.Errorf("the destination has (-want +got):\n%s", diff)
	}
	pins := fmt.Sprintf("%s a.json true true", statedocs.Pins)
	if got := contents(t, from); !slices.Equal(got, []string{pins}) {
		t.Errorf("the source has %q", got)
	}
	_, err := move(t.Context(), from, to, sqlite.Options{}) // the next move is another one
	check(t, err)
	check(t, takeOver(t.Context(), from))
}

// TestAMoveThatFails at any step: the next one has all, once, and no host opens the source before.
func TestAMoveThatFails(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	fill(t, full)
	all := contents(t, full)
	if len(all) != 10 {
		t.Fatalf("there is %q", all)
	}
	for n, reached := 1, true; reached; n++ {
		from, to := t.TempDir(), t.TempDir()
		check(t, os.CopyFS(from, os.DirFS(full)))
		check(t, os.Chmod(filepath.Join(from, sqlite.KeyFile), 0o600))
		o, faults := sqlite.Faulty(sqlite.Options{})
		end := faults.Set(n, n%2 == 0)
		_, err := move(t.Context(), from, to, o)
		if reached = end(); !reached {
			check(t, err)
			hasMoved(t, all, from, to)
			break
		}
		was, is := contents(t, from), contents(t, to)
		if opened := takeOver(t.Context(), from); opened == nil && len(was) > 1 && len(is) > 0 {
			t.Errorf("step %d: a host opens the source, which has %q, and the destination %q", n, was, is)
		}
		_, err = move(t.Context(), from, to, sqlite.Options{})
		check(t, err)
		hasMoved(t, all, from, to)
	}
}

// TestAMoveIsKilled: the next one has all, once.
func TestAMoveIsKilled(t *testing.T) {
	t.Parallel()
	exe := must(os.Executable())(t)
	full := t.TempDir()
	fill(t, full)
	all := contents(t, full)
	for _, after := range []time.Duration{0, 20, 40, 60, 80, 100, 120, 140} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			t.Parallel()
			from, to := t.TempDir(), t.TempDir()
			check(t, os.CopyFS(from, os.DirFS(full)))
			check(t, os.Chmod(filepath.Join(from, sqlite.KeyFile), 0o600))
			ctx, cancel := context.WithTimeout(t.Context(), after*time.Millisecond)
			defer cancel()
			cmd := exec.CommandContext(ctx, exe)
			cmd.Env = append(os.Environ(), takerKey+"="+to, moverKey+"="+from)
			_ = cmd.Run() // it is killed, or has ended
			_, err := move(t.Context(), from, to, sqlite.Options{})
			check(t, err)
			hasMoved(t, all, from, to)
		})
	}
}

// TestAMoveIsRefused while another process uses the state, and while the state is being moved
// elsewhere.
func TestAMoveIsRefused(t *testing.T) {
	t.Parallel()
	ctx, from, to := t.Context(), t.TempDir(), t.TempDir()
	fill(t, from)
	server := must(sqlite.Open(ctx, from, sqlite.Options{}))(t)
	if _, err := move(ctx, from, to, sqlite.Options{}); !errors.Is(err, statecopy.ErrInUse) {
		t.Errorf("the state in use: %v", err)
	}
	check(t, server.Close())
	check(t, takeOver(ctx, from)) // it is as it was
	d := must(sqlite.Open(ctx, from, sqlite.Options{}))(t)
	must(d.Copied().StartMove(ctx, "elsewhere"))(t)
	check(t, d.Close())
	if err := takeOver(ctx, from); !errors.Is(err, statecopy.ErrMoving) {
		t.Errorf("a host opens a state that is being moved: %v", err)
	}
	if _, err := move(ctx, from, to, sqlite.Options{}); !errors.Is(err, statecopy.ErrMoving) {
		t.Errorf("a move to a second state: %v", err)
	}
}

// TestACopy changes nothing in the source, and leaves what is there.
func TestACopy(t *testing.T) {
	t.Parallel()
	ctx, from, to := t.Context(), t.TempDir(), t.TempDir()
	fill(t, from)
	all := contents(t, from)
	source := must(sqlite.Open(ctx, from, sqlite.Options{}))(t)
	defer func() { check(t, source.Close()) }()
	other := must(sqlite.Open(ctx, to, sqlite.Options{}))(t)
	must(statecopy.CopyTo(ctx, source.Copied(), other.Copied()))(t)
	if _, err := other.Effects(ctx, "run_1"); !errors.Is(err, runstore.ErrNotFound) {
		t.Errorf("a call could be undone twice: %v", err)
	}
	c := must(other.Claim(ctx, "run_1"))(t)
	r := must(other.Get(ctx, "run_1"))(t)
	r.Generation, r.Image = 2, []byte("newer")
	check(t, c.Checkpoint(ctx, r))
	c.Release()
	left := 0
	for _, o := range must(statecopy.CopyTo(ctx, source.Copied(), other.Copied()))(t) {
		if o.What != statecopy.Left || o.Reason != "it is there already" && o.Kind != "effects" {
			t.Errorf("%+v", o)
		}
		left++
	}
	if left != 8 { // pins and programs of runs are written again
		t.Errorf("%d were left", left)
	}
	if r := must(other.Get(ctx, "run_1"))(t); string(r.Image) != "newer" {
		t.Errorf("the run there is %+v", r)
	}
	check(t, other.Close())
	if diff := cmp.Diff(all, contents(t, from)); diff != "" {
		t.Errorf("the source (-before +after):\n%s", diff)
	}
}
