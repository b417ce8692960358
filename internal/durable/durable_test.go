package durable

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// failSync makes every sync of a file with a name that passes fail, and counts
// the directories that were synced.
func failSync(t *testing.T, fails func(name string) bool) (synced *[]string) {
	t.Helper()
	was := Sync
	t.Cleanup(func() { Sync = was })
	synced = new([]string)
	Sync = func(f *os.File) error {
		*synced = append(*synced, f.Name())
		if fails(f.Name()) {
			return errors.New("input/output error")
		}
		return was(f)
	}
	return synced
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	synced := failSync(t, func(string) bool { return false })
	when := time.Now().Add(time.Hour).Truncate(time.Second)
	for _, text := range []string{"first", "second"} {
		if err := Replace(path, []byte(text), Options{Mode: 0o644, ModTime: when}); err != nil {
			t.Fatal(err)
		}
		b, err := ReadFile(path, 100)
		if err != nil || string(b) != text {
			t.Errorf("got %q, %v", b, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o644 || !info.ModTime().Equal(when) {
		t.Errorf("mode %v, time %v, %v", info.Mode(), info.ModTime(), err)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
	if last := (*synced)[len(*synced)-1]; runtime.GOOS != "windows" && (last != dir || len(*synced) != 4) {
		t.Errorf("synced %v, want the file and then the directory, twice", *synced)
	}
}

func TestCreateNeverReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	var wins atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			switch err := Create(path, []byte{byte(i)}, Options{}); {
			case err == nil:
				wins.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if wins.Load() != 1 {
		t.Errorf("%d callers created one file", wins.Load())
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

// TestCreateIsDurable: a new name counts once its directory is on the disk.
func TestCreateIsDurable(t *testing.T) {
	dir := t.TempDir()
	synced := failSync(t, func(name string) bool { return name == dir })
	if err := Create(filepath.Join(dir, "f"), []byte("new"), Options{}); runtime.GOOS != "windows" && err == nil {
		t.Error("a directory that was not synced was taken for written")
	}
	if last := (*synced)[len(*synced)-1]; runtime.GOOS != "windows" && (last != dir || len(*synced) != 2) {
		t.Errorf("synced %v, want the file and then the directory", *synced)
	}
}

// TestADiskThatFails: an error means that the file is as it was, and that nothing
// is left of the attempt.
func TestADiskThatFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := Create(path, []byte("old"), Options{}); err != nil {
		t.Fatal(err)
	}
	failSync(t, func(name string) bool { return name != dir })
	if err := Replace(path, []byte("new"), Options{}); err == nil {
		t.Error("a file that was not synced was taken for written")
	}
	if err := Create(filepath.Join(dir, "g"), []byte("new"), Options{}); err == nil {
		t.Error("a file that was not synced was taken for written")
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
		t.Errorf("%q, %v", b, err)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

func TestReadsAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]error{4: ErrTooLarge, 5: nil, 6: nil} {
		if _, err := ReadFile(path, limit); !errors.Is(err, want) {
			t.Errorf("ReadFile with the limit %d: %v", limit, err)
		}
		if _, err := ReadPrivate(path, limit); !errors.Is(err, want) {
			t.Errorf("ReadPrivate with the limit %d: %v", limit, err)
		}
		var b bytes.Buffer
		if _, err := Copy(&b, path, limit); !errors.Is(err, want) {
			t.Errorf("Copy with the limit %d: %v", limit, err)
		}
	}
	if _, err := ReadFile(filepath.Dir(path), 1); err == nil {
		t.Error("a directory was read")
	}
	if _, err := ReadFile(path+"x", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	a, b := NewLock(path), NewLock(path)
	if err := a.Lock(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if err := b.TryLock(); !errors.Is(err, ErrLocked) {
		t.Errorf("a held lock was taken: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Lock(ended, true); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
	if !a.Holds(path) {
		t.Error("the holder does not hold")
	}
	if err := a.Unlock(); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*FileLock{a, b} {
		if err := l.Lock(t.Context(), true); err != nil {
			t.Errorf("shared: %v", err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if a.Holds(path) {
		t.Error("it holds a file that is gone")
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}
