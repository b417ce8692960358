//go:build unix

package runstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// TestAFullDiskInTheMiddleOfAFrame: the caller learns that the answer is not stored,
// the run stays as it was, and once there is room it continues, also with less than what did
// not fit.
func TestAFullDiskInTheMiddleOfAFrame(t *testing.T) {
	if !hosttest.Alone(t) {
		return
	}
	ctx := context.Background()
	for _, fits := range []int64{0, 1, headSize, headSize + 10, 5000} {
		t.Run(strconv.Itoa(int(fits))+" bytes fit", func(t *testing.T) {
			l := newLeg(t)
			size, last := l.sizes[len(l.sizes)-1], l.states[len(l.states)-1]
			free := hosttest.FillDisk(t, size+fits)
			large := []runstore.Call{{ID: 2, State: runstore.CallSettled, OK: true, Answer: json.RawMessage(`"` + strings.Repeat("x", 10_000) + `"`)}}
			err := runstore.Alone(l.store).PutCalls(ctx, "run_1", 2, large)
			free()
			if err == nil {
				t.Fatal("an answer that did not fit was taken for stored")
			}
			got, err := l.store.Get(ctx, "run_1")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(last, got); d != "" {
				t.Errorf("on a full disk the run changed (-want +got):\n%s", d)
			}
			l.settle(2, 2, `"small"`)
			if got, err = l.put(l.read()); err != nil || string(got.Calls[1].Answer) != `"small"` {
				t.Errorf("with room again: %+v, %v", got, err)
			}
		})
	}
}

// TestAFullDiskForANewImage: the older image stays, and nothing that is half written.
func TestAFullDiskForANewImage(t *testing.T) {
	if !hosttest.Alone(t) {
		return
	}
	ctx := context.Background()
	for name, write := range map[string]func(*leg, *runstore.Record) error{
		"suspension": func(l *leg, r *runstore.Record) error { return runstore.Alone(l.store).Put(ctx, r, 0) },
		"checkpoint": func(l *leg, r *runstore.Record) error { return runstore.Alone(l.store).Checkpoint(ctx, r) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLeg(t)
			last := l.states[len(l.states)-1]
			next := record("run_1")
			next.Generation, next.Image = 3, bytes.Repeat([]byte{1}, 100_000)
			free := hosttest.FillDisk(t, l.sizes[len(l.sizes)-1]+4096)
			err := write(l, next)
			free()
			if err == nil {
				t.Fatal("an image that did not fit was taken for stored")
			}
			got, err := l.store.Get(ctx, "run_1")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(last, got); d != "" {
				t.Errorf("on a full disk the run changed (-want +got):\n%s", d)
			}
			if left, err := filepath.Glob(filepath.Join(l.dir, "*.tmp")); err != nil || len(left) != 0 {
				t.Errorf("left: %q, %v", left, err)
			}
			if err := write(l, next); err != nil {
				t.Fatalf("with room again: %v", err)
			}
			if got, err = l.store.Get(ctx, "run_1"); err != nil || got.Generation != 3 || !bytes.Equal(got.Image, next.Image) {
				t.Errorf("with room again: generation %d, %v", got.Generation, err)
			}
		})
	}
}

// TestAFullDiskForTheKey: no store opens with a key that is cut short, now or later.
func TestAFullDiskForTheKey(t *testing.T) {
	if !hosttest.Alone(t) {
		return
	}
	dir := filepath.Join(t.TempDir(), "state")
	free := hosttest.FillDisk(t, 16)
	_, err := runstore.OpenDir(dir)
	free()
	if err == nil {
		t.Fatal("half a key was taken for one")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := runstore.OpenDir(dir); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
