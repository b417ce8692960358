package pluginstorage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// opened is a File that fails the test when it cannot be read or written.
func opened(t testing.TB, path string) *File {
	f := Open(path, func(err error) { t.Errorf("storage: %v", err) })
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// both runs a test on every kind of storage.
func both(t *testing.T, test func(t *testing.T, s protocol.Storage)) {
	t.Run("memory", func(t *testing.T) { test(t, &Memory{}) })
	t.Run("shared", func(t *testing.T) { test(t, shared(t, &memoryLog{})) })
	t.Run("file", func(t *testing.T) { test(t, opened(t, filepath.Join(t.TempDir(), "deep", "p.kv"))) })
}

func set(t testing.TB, s protocol.Storage, key, value string) uint64 {
	t.Helper()
	revision, err := s.Set(t.Context(), key, []byte(value), nil)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

// want checks the value of a key, "-" for none.
func want(t testing.TB, s protocol.Storage, key, value string) {
	t.Helper()
	e, err := s.Get(t.Context(), key)
	got := string(e.Value)
	if e.Revision == 0 {
		got = "-"
	}
	if err != nil || got != value {
		t.Errorf("%s is %.60q, %v; want %.60q", key, got, err, value)
	}
}

func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("got %v, want the code %s", err, code)
	}
}

func TestWhatIsSetIsThere(t *testing.T) {
	both(t, func(t *testing.T, s protocol.Storage) {
		want(t, s, "a", "-")
		first := set(t, s, "a", "1")
		want(t, s, "a", "1")
		if second := set(t, s, "a", "2"); second == first || second == 0 {
			t.Errorf("revisions %d and %d", first, second)
		}
		set(t, s, "empty", "")
		want(t, s, "empty", "")
		for range 2 { // what is not there may be deleted too
			if err := s.Delete(t.Context(), "a", nil); err != nil {
				t.Error(err)
			}
		}
		want(t, s, "a", "-")
	})
}

func TestRevisionsGuardAgainstLostChanges(t *testing.T) {
	both(t, func(t *testing.T, s protocol.Storage) {
		ctx, none := t.Context(), uint64(0)
		revision, err := s.Set(ctx, "a", []byte("1"), &none)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Set(ctx, "a", []byte("2"), &none)
		wantCode(t, err, protocol.CodeStorageConflict)
		stale := revision
		if revision, err = s.Set(ctx, "a", []byte("2"), &stale); err != nil {
			t.Fatal(err)
		}
		wantCode(t, s.Delete(ctx, "a", &stale), protocol.CodeStorageConflict)
		want(t, s, "a", "2")
		if err := s.Delete(ctx, "a", &revision); err != nil {
			t.Error(err)
		}
		for _, gone := range []uint64{stale, revision, revision + 100} {
			_, err = s.Set(ctx, "a", []byte("3"), &gone)
			wantCode(t, err, protocol.CodeStorageConflict)
			wantCode(t, s.Delete(ctx, "a", &gone), protocol.CodeStorageConflict)
			want(t, s, "a", "-")
		}
		if again := set(t, s, "a", "3"); again <= revision {
			t.Errorf("a key that came back has revision %d, not beyond %d", again, revision)
		}
	})
}

func TestList(t *testing.T) {
	both(t, func(t *testing.T, s protocol.Storage) {
		for _, k := range []string{"b/2", "a", "b/1", "é", "b/3", "b"} {
			set(t, s, k, k)
		}
		for _, tt := range []struct {
			prefix, after string
			limit         int
			want          string
			more          bool
		}{
			{"", "", 0, "a b b/1 b/2 b/3 é", false},
			{"b/", "", 0, "b/1 b/2 b/3", false},
			{"b/", "", 2, "b/1 b/2", true},
			{"b/", "b/2", 2, "b/3", false},
			{"c", "", 0, "", false},
		} {
			keys, more, err := s.List(t.Context(), tt.prefix, tt.after, tt.limit)
			if got := strings.Join(keys, " "); err != nil || got != tt.want || more != tt.more {
				t.Errorf("List(%q, %q, %d) = %q, %v, %v", tt.prefix, tt.after, tt.limit, got, more, err)
			}
		}
	})
}

func TestBounds(t *testing.T) {
	both(t, func(t *testing.T, s protocol.Storage) {
		ctx := t.Context()
		for _, key := range []string{"", strings.Repeat("k", protocol.MaxStorageKey+1), "\xff"} {
			_, err := s.Set(ctx, key, nil, nil)
			wantCode(t, err, protocol.CodeStorageInvalid)
			_, err = s.Get(ctx, key)
			wantCode(t, err, protocol.CodeStorageInvalid)
			wantCode(t, s.Delete(ctx, key, nil), protocol.CodeStorageInvalid)
		}
		_, err := s.Set(ctx, "k", make([]byte, protocol.MaxStorageValue+1), nil)
		wantCode(t, err, protocol.CodeStorageInvalid)
		large := strings.Repeat("x", protocol.MaxStorageValue)
		n := 0
		for err = nil; err == nil; n++ {
			_, err = s.Set(ctx, "large"+strconv.Itoa(n), []byte(large), nil)
		}
		wantCode(t, err, protocol.CodeStorageFull)
		if n != protocol.MaxStorageBytes/protocol.MaxStorageValue {
			t.Errorf("%d values of %d bytes fit", n-1, len(large))
		}
		set(t, s, "large0", large[1:]) // replacing and removing stays possible
		if err := s.Delete(ctx, "large0", nil); err != nil {
			t.Error(err)
		}
		set(t, s, "small", "x")
		want(t, s, "large1", large)
	})
}

func TestKeysAreCounted(t *testing.T) {
	s := &Memory{} // the file has the same table
	for i := range protocol.MaxStorageKeys {
		set(t, s, strconv.Itoa(i), "")
	}
	_, err := s.Set(t.Context(), "more", nil, nil)
	wantCode(t, err, protocol.CodeStorageFull)
	set(t, s, "7", "another value")
	if err := s.Delete(t.Context(), "8", nil); err != nil {
		t.Error(err)
	}
	set(t, s, "more", "")
}

// TestNothingIsLostAmongMany counts up from many places at once.
func TestNothingIsLostAmongMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.kv")
	handles := []*File{opened(t, path), opened(t, path), opened(t, path)}
	const each, workers = 20, 6
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			s := handles[i%len(handles)]
			for range each {
				if err := increment(t.Context(), s); err != nil {
					t.Error(err)
				}
				set(t, s, fmt.Sprint("own", i), "x")
			}
		})
	}
	group.Wait()
	for _, s := range append(handles, opened(t, path)) {
		want(t, s, "n", strconv.Itoa(each*workers))
		if keys, _, err := s.List(t.Context(), "own", "", 0); err != nil || len(keys) != workers {
			t.Errorf("%v, %v", keys, err)
		}
	}
}

func increment(ctx context.Context, s protocol.Storage) error {
	for {
		e, err := s.Get(ctx, "n")
		if err != nil {
			return err
		}
		n := 0
		if e.Revision != 0 {
			if n, err = strconv.Atoi(string(e.Value)); err != nil {
				return err
			}
		}
		_, err = s.Set(ctx, "n", []byte(strconv.Itoa(n+1)), &e.Revision)
		if !errors.Is(err, &protocol.Error{Code: protocol.CodeStorageConflict}) {
			return err
		}
	}
}

// TestRevisionsGoOnInAFileThatIsWrittenAnew, also when the newest of them are of keys
// that are gone, or stand before older ones.
func TestRevisionsGoOnInAFileThatIsWrittenAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.kv")
	s := opened(t, path)
	set(t, s, "z", "old")
	large := strings.Repeat("x", protocol.MaxStorageValue)
	for i := range 8 {
		set(t, s, "a", large[:len(large)-i])
	}
	newest := set(t, s, "b", "1")
	if err := s.Delete(t.Context(), "b", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.rewrite(); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*File{"the writer": s, "another process": opened(t, path)} {
		if next := set(t, f, "b", "2"); next <= newest {
			t.Errorf("for %s a new change has revision %d, and one before it %d", name, next, newest)
		} else {
			newest = next
		}
	}
}

func TestAFileIsWrittenAnewWhenMostOfItIsStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.kv")
	s, other := opened(t, path), opened(t, path)
	set(t, other, "kept", "for good")
	large := strings.Repeat("x", protocol.MaxStorageValue)
	var last uint64
	for i := range 64 {
		last = set(t, s, "large", large[:len(large)-i])
	}
	if size := fileSize(t, path); size > 4<<20 {
		t.Errorf("the file of 1 MiB of content has %d bytes", size)
	}
	want(t, other, "large", large[63:])
	want(t, other, "kept", "for good")
	if next := set(t, other, "large", ""); next <= last {
		t.Errorf("revision %d after %d", next, last)
	}
	want(t, s, "large", "")
	keys, _, err := s.List(t.Context(), "", "", 0)
	if err != nil || !slices.Equal(keys, []string{"kept", "large"}) {
		t.Errorf("%v, %v", keys, err)
	}
}

// TestAPathWithBrackets: names of folders are no patterns.
func TestAPathWithBrackets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data[1")
	path := filepath.Join(dir, "storage")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	left := path + ".left" + durable.TempExt
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := Open(path, func(err error) { t.Error(err) })
	if _, err := f.Set(t.Context(), "key", []byte("1"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a dead process left is there: %v", err)
	}
}
