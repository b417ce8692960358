//go:build unix

package sqlite_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/runstore/runstoretest"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// TestAFullDisk: the caller learns that an answer is not stored and why, the run stays as it was,
// other runs too, and once there is room it continues.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	if !hosttest.Alone(t) {
		return
	}
	ctx := t.Context()
	dir := t.TempDir()
	d := open(t, dir, sqlite.Looking(sqlite.Options{}, time.Millisecond))
	c, err := d.Create(ctx, runstoretest.Record("run_1", 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 15 {
		if err := c.PutCalls(ctx, 1, runstoretest.Settled(1, fmt.Sprint(n))); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(dir + "/state.db-wal")
		if err != nil {
			t.Fatal(err)
		}
		free := hosttest.FillDisk(t, st.Size()+int64(n)*1000)
		noise := make([]byte, 0, 100_000)
		for i := range 20_000 {
			noise = fmt.Append(noise, i*2654435761%99991)
		}
		err = c.PutCalls(ctx, 1, []runstore.Call{{ID: 2, State: runstore.CallSettled, OK: true, Answer: json.RawMessage(`"` + string(noise) + `"`)}})
		if h := d.Health(ctx); h.State != runstore.HealthReadOnly {
			t.Errorf("the store of a full disk is %s", h.State)
		}
		free()
		for d.Health(ctx).State != runstore.HealthOK {
			runtime.Gosched() // it is tried again by itself
		}
		if !errors.Is(err, runstore.ErrUnavailable) || !strings.Contains(err.Error(), "make room") && !strings.Contains(err.Error(), "the disk of the state fails") {
			t.Fatalf("with room for %d bytes: %v", n*1000, err)
		}
		r, err := d.Get(ctx, "run_1")
		if err != nil || string(r.Calls[0].Answer) != fmt.Sprint(n) || r.Calls[1].State != runstore.CallQueued {
			t.Fatalf("after the answer %d: %+v, %v", n, r, err)
		}
	}
	if err := d.Check(ctx); err != nil {
		t.Error(err)
	}
}
