//go:build unix

package runstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/runstore"
)

// alone reports whether this is a process of the test's own. If not, it runs the
// test in one: a limit on the sizes of files is one for the whole process, and the
// testing package writes files too.
func alone(t *testing.T) bool {
	t.Helper()
	const key = "QUOIN_TEST_FULL_DISK"
	if os.Getenv(key) != "" {
		return true
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), key+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// fillDisk lets no file grow beyond a size, and returns what makes room again. The
// write that meets the end writes what fits, as on a full disk.
func fillDisk(t *testing.T, size int64) (free func()) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	now := was
	now.Cur = uint64(size)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Fatal(err)
	}
	free = func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(free)
	return free
}

// TestAFullDiskInTheMiddleOfAFrame: the caller learns that the answer is not stored,
// the run stays as it was, and once there is room it continues, also with less than what did
// not fit.
func TestAFullDiskInTheMiddleOfAFrame(t *testing.T) {
	if !alone(t) {
		return
	}
	ctx := context.Background()
	for _, fits := range []int64{0, 1, headSize, headSize + 10, 5000} {
		t.Run(strconv.Itoa(int(fits))+" bytes fit", func(t *testing.T) {
			l := newLeg(t)
			size, last := l.sizes[len(l.sizes)-1], l.states[len(l.states)-1]
			free := fillDisk(t, size+fits)
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
	if !alone(t) {
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
			free := fillDisk(t, l.sizes[len(l.sizes)-1]+4096)
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
	if !alone(t) {
		return
	}
	dir := filepath.Join(t.TempDir(), "state")
	free := fillDisk(t, 16)
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
