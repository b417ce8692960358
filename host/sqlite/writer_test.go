package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/runstore/runstoretest"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/host/trajectory"
)

// TestWritesThatAreGivenUp: a write is not made if its caller has gone before its turn. A caller
// waits for a write that is being made.
func TestWritesThatAreGivenUp(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	blocking := false
	d := open(t, t.TempDir(), sqlite.Stepping(sqlite.Options{}, func(do func() error) error {
		if blocking {
			blocking = false
			close(entered)
			<-leave
		}
		return do()
	}))
	block := func(ctx context.Context) <-chan error {
		done := make(chan error, 1)
		go func() {
			c, err := d.Create(ctx, runstoretest.Record("run_1", 1), 0)
			if err == nil {
				c.Release()
			}
			done <- err
		}()
		return done
	}
	blocking = true
	ctx, cancel := context.WithCancel(t.Context())
	first := block(ctx)
	<-entered
	cancel()
	_, err := d.Create(ctx, runstoretest.Record("run_2", 1), 0)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a write before its turn: %v", err)
	}
	close(leave)
	if err := <-first; err != nil {
		t.Errorf("a write that was made: %v", err)
	}
	if _, err := d.Get(t.Context(), "run_2"); !errors.Is(err, runstore.ErrNotFound) {
		t.Errorf("a write that was given up has counted: %v", err)
	}
}

// TestRoomIsGivenBack: the file is smaller once what filled it has expired and is swept.
func TestRoomIsGivenBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	d := open(t, dir, sqlite.Options{})
	size := func() int64 {
		t.Helper()
		st, err := os.Stat(dir + "/state.db")
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	for n := range 20 {
		r := runstoretest.Record("run_"+string(rune('a'+n)), 1)
		r.Image = make([]byte, 2<<20)
		r.Expires = time.Now().Add(-time.Hour)
		c, err := d.Create(ctx, r, 0)
		if err != nil {
			t.Fatal(err)
		}
		c.Release()
	}
	if err := d.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	full := size()
	if left, err := d.Sweep(ctx, time.Now()); err != nil || left != 0 {
		t.Fatalf("%d runs are left, %v", left, err)
	}
	if err := d.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	if now := size(); full < 40<<20 || now > full*2/3 {
		t.Errorf("the file has %d bytes, and had %d", now, full)
	}
}

// TestManyReadersAtOnce: each of them prepares its statements while all others hold their
// connections.
func TestManyReadersAtOnce(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir(), sqlite.Options{})
	var done sync.WaitGroup
	for n := range 64 {
		done.Go(func() {
			if _, err := d.Get(t.Context(), fmt.Sprint("run_", n)); !errors.Is(err, runstore.ErrNotFound) {
				t.Error(err)
			}
		})
	}
	done.Wait()
}

// TestAClosedState answers nothing, and may be closed again.
func TestAClosedState(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir(), sqlite.Options{})
	told := must(d.Trajectory(trajectory.DirOptions{}))(t)
	for range 2 {
		check(t, told.Close())
		check(t, d.Close())
	}
	if _, err := d.List(t.Context()); err == nil {
		t.Error("it lists runs")
	}
	if _, err := d.Create(t.Context(), runstoretest.Record("run_1", 1), 0); err == nil {
		t.Error("it creates a run")
	}
	if _, err := told.List(ada); err == nil {
		t.Error("it lists trajectories")
	}
}
