package sqlite_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/runstore/runstoretest"
	"github.com/quoinhq/quoin/host/sqlite"
)

// holderKey names the directory in which this process holds a run until it is killed.
const holderKey = "QUOIN_TEST_STATE_HOLDER"

// TestHoldsARun is the process that TestAProcessIsKilled kills.
func TestHoldsARun(t *testing.T) {
	dir := os.Getenv(holderKey)
	if dir == "" {
		return // it is for TestAProcessIsKilled
	}
	d := open(t, dir, sqlite.Options{}) // what no one refers to is collected, with its lock
	if _, err := d.Claim(t.Context(), "run_1"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.OpenEffects(t.Context(), "run_2", &runstore.Effects{}); err != nil && !errors.Is(err, runstore.ErrExpired) {
		t.Fatal(err)
	}
	if _, err := d.Reserve(t.Context(), "run_3"); err != nil {
		t.Fatal(err)
	}
	fmt.Println("holds")
	select {}
}

// TestAProcessIsKilled: what a process holds is its own while it lives, also while it is
// stopped, and free as soon as it does not.
func TestAProcessIsKilled(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	d := open(t, dir, sqlite.Options{})
	c, err := d.Create(ctx, runstoretest.Record("run_1", 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	c.Release()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, exe, "-test.run=^TestHoldsARun$")
	cmd.Env = append(os.Environ(), holderKey+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "holds\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := d.Claim(ctx, "run_1"); !errors.Is(err, runstore.ErrClaimed) {
		t.Errorf("a run of a process that lives: %v", err)
	}
	if _, err := d.Reserve(ctx, "run_3"); !errors.Is(err, runstore.ErrClaimed) {
		t.Errorf("an id of a process that lives: %v", err)
	}
	if due, err := d.Due(ctx, 10); err != nil || len(due) != 0 {
		t.Errorf("due are %v, %v", due, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	due, err := d.Due(ctx, 10)
	if err != nil || !slices.Equal(due, []string{"run_1"}) {
		t.Errorf("due are %v, %v", due, err)
	}
	c, err = d.Claim(ctx, "run_1")
	if err != nil {
		t.Fatal(err)
	}
	if c.Epoch() != 3 {
		t.Errorf("the epoch is %d, want 3", c.Epoch())
	}
	c.Release()
	release, err := d.Reserve(ctx, "run_3")
	if err != nil {
		t.Fatal(err)
	}
	release()
}

// TestWatchHearsOtherProcesses: a run that another process wakes is told, and is due.
func TestWatchHearsOtherProcesses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	one, other := open(t, dir, sqlite.Options{}), open(t, dir, sqlite.Options{})
	c, err := one.Create(ctx, runstoretest.Record("run_1", 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	c.Release()
	heard := other.Watch(ctx)
	for range 3 {
		if err := one.Wake(ctx, "run_1"); err != nil {
			t.Fatal(err)
		}
		if id := <-heard; id != "run_1" {
			t.Errorf("heard of %q", id)
		}
		if due, err := other.Due(ctx, 10); err != nil || !slices.Equal(due, []string{"run_1"}) {
			t.Errorf("due are %v, %v", due, err)
		}
		c, err := other.Claim(ctx, "run_1")
		if err != nil {
			t.Fatal(err)
		}
		c.Release()
		if due, err := one.Due(ctx, 10); err != nil || len(due) != 0 {
			t.Errorf("after a claim due are %v, %v", due, err)
		}
	}
}

// TestProcessesThatComeAndGo: each owns what it has created while others look for dead ones.
func TestProcessesThatComeAndGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	looking := open(t, dir, sqlite.Options{})
	var done sync.WaitGroup
	for n := range 4 {
		done.Go(func() {
			for i := range 25 {
				id := fmt.Sprint("run_", n, "_", i)
				d, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				c, err := d.Create(t.Context(), runstoretest.Record(id, 1), 0)
				if err == nil {
					if _, taken := looking.Claim(t.Context(), id); !errors.Is(taken, runstore.ErrClaimed) {
						t.Errorf("a run of a process that lives: %v", taken)
					}
					c.Release()
				}
				if err := errors.Join(err, d.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
}
