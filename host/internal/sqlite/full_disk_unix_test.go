//go:build unix

package sqlite_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/quoinhq/quoin/host/internal/sqlite"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/runstore/runstoretest"
)

// alone reports whether this is a process of the test's own. If not, it runs the
// test in one: a limit on the sizes of files is one for the whole process.
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

// limit lets no file grow beyond a size, and returns what lets them grow again. The write that
// meets the end writes what fits, as on a full disk.
func limit(t *testing.T, size int64) (free func()) {
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
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFullDisk: the caller learns that an answer is not stored and why, the run stays as it was,
// other runs too, and once there is room it continues.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	if !alone(t) {
		return
	}
	ctx := t.Context()
	dir := t.TempDir()
	d := open(t, dir, sqlite.Options{})
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
		free := limit(t, st.Size()+int64(n)*1000)
		noise := make([]byte, 0, 100_000)
		for i := range 20_000 {
			noise = fmt.Append(noise, i*2654435761%99991)
		}
		err = c.PutCalls(ctx, 1, []runstore.Call{{ID: 2, State: runstore.CallSettled, OK: true, Answer: json.RawMessage(`"` + string(noise) + `"`)}})
		free()
		if !errors.Is(err, runstore.ErrUnavailable) || !strings.Contains(err.Error(), "make room") && !strings.Contains(err.Error(), "the disk of the state fails") {
			t.Fatalf("with room for %d bytes: %v", n*1000, err)
		}
		r, err := d.Get(ctx, "run_1")
		if err != nil || string(r.Calls[0].Answer) != fmt.Sprint(n) || r.Calls[1].State != runstore.CallQueued {
			t.Fatalf("after the answer %d: %+v, %v", n, r, err)
		}
	}
	if says := d.QuickCheck(); says != "ok" {
		t.Error(says)
	}
}
