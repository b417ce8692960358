//go:build unix

package pluginstorage

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// fillDisk lets no file grow beyond a size, and returns what makes room again. The
// write that meets the end writes what fits, as on a full disk. The testing package
// writes files too: they are smaller than half a MiB.
func fillDisk(t *testing.T, size int64) (free func()) {
	t.Helper()
	if size < 1<<19 {
		t.Fatalf("%d bytes are too few for the testing package", size)
	}
	return hosttest.FillDisk(t, size)
}

// faulty returns a storage with a host that hears of failures.
func faulty(t *testing.T, path string) (f *File, heard *[]string) {
	heard = new([]string)
	f = Open(path, func(err error) { *heard = append(*heard, err.Error()) })
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, heard
}

// TestAFullDiskChangesNothing: a change that was said to have failed does not count
// later, for the process that tried it or for another; with room again it is made.
func TestAFullDiskChangesNothing(t *testing.T) {
	large := strings.Repeat("x", protocol.MaxStorageValue/2)
	for _, fits := range []int64{0, 1, headerBytes, headerBytes + 100} {
		path := filepath.Join(t.TempDir(), "p.kv")
		f, heard := faulty(t, path)
		for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
			set(t, f, key, large)
		}
		size := fileSize(t, path)
		free := fillDisk(t, size+fits)
		_, err := f.Set(t.Context(), "a", []byte("new"+large), nil)
		free()
		wantCode(t, err, protocol.CodeStorageFailed)
		if len(*heard) != 1 || !strings.Contains((*heard)[0], "p.kv") || strings.Contains(err.Error(), "p.kv") {
			t.Errorf("the plugin is told %v, and the host %q", err, *heard)
		}
		if now := fileSize(t, path); now != size {
			t.Errorf("with room for %d bytes the file has %d, want the %d of before", fits, now, size)
		}
		for _, s := range []*File{f, opened(t, path)} {
			want(t, s, "a", large)
			want(t, s, "i", large)
		}
		set(t, f, "a", "new")
		want(t, opened(t, path), "a", "new")
	}
}

// TestAFullDiskDuringARewrite: what is stored stays, and nothing is left of the new
// file.
func TestAFullDiskDuringARewrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.kv")
	f, _ := faulty(t, path)
	large := strings.Repeat("x", protocol.MaxStorageValue/2)
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		set(t, f, key, large)
	}
	if err := os.WriteFile(path+".left"+durable.TempExt, nil, 0o600); err != nil { // by a process that died
		t.Fatal(err)
	}
	free := fillDisk(t, fileSize(t, path)/2)
	err := f.rewrite()
	free()
	if err == nil {
		t.Fatal("a file that did not fit was taken for written")
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 2 {
		t.Errorf("want the file and its lock: %v, %v", left, err)
	}
	for _, s := range []*File{f, opened(t, path)} {
		want(t, s, "a", large)
		want(t, s, "j", large)
	}
	if err := f.rewrite(); err != nil {
		t.Fatal(err)
	}
	want(t, f, "j", large)
}

// TestPathsThatCannotBeUsed: every method says that the storage failed, and only the
// host hears where it is.
func TestPathsThatCannotBeUsed(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a folder in its place":  func(path string) error { return os.MkdirAll(path, 0o700) },
		"a file for its folder":  func(path string) error { return os.WriteFile(filepath.Dir(path), nil, 0o600) },
		"far too large":          func(path string) error { return grown(path, maxFileBytes+1) },
		"too short for its head": func(path string) error { return grown(path, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "deep", "p.kv")
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			f, heard := faulty(t, path)
			_, err := f.Get(t.Context(), "a")
			_, seterr := f.Set(t.Context(), "a", nil, nil)
			_, _, listerr := f.List(t.Context(), "", "", 0)
			for _, err := range []error{err, seterr, listerr, f.Delete(t.Context(), "a", nil)} {
				wantCode(t, err, protocol.CodeStorageFailed)
				if strings.Contains(err.Error(), "deep") {
					t.Errorf("the plugin is told of the host's files: %v", err)
				}
			}
			if len(*heard) != 4 || !strings.Contains((*heard)[0], path) {
				t.Errorf("the host heard %q", *heard)
			}
		})
	}
}

// grown makes a file of zeros, which starts like a storage if there is room.
func grown(path string, size int64) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(magic), 0o600); err != nil {
		return err
	}
	return os.Truncate(path, size)
}

// TestALockThatIsHeld is waited for as long as the request may take, and no longer.
func TestALockThatIsHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.kv")
	f := opened(t, path)
	set(t, f, "a", "1")
	other := flock.New(path + ".lock")
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Set(ctx, "a", []byte("2"), nil)
	wantCode(t, err, protocol.CodeCancelled)
	_, err = f.Get(ctx, "a")
	wantCode(t, err, protocol.CodeCancelled)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, f, "a", "1")
}

// TestRecordsThatNoWriterMakes: the checksums are right, and the records are not.
func TestRecordsThatNoWriterMakes(t *testing.T) {
	whole, _ := written(t)
	record := func(kind byte, c change) []byte { return appendRecord(nil, kind, c) }
	for name, tail := range map[string][]byte{
		"an unknown kind":             record(9, change{key: "x", revision: 9}),
		"no revision":                 record(kindSet, change{key: "x", value: []byte("y")}),
		"a deletion with a value":     record(kindDelete, change{key: "x", value: []byte("y"), revision: 9}),
		"a deletion of no key":        record(kindDelete, change{revision: 9}),
		"a change of no key":          record(kindSet, change{value: []byte("y"), revision: 9}),
		"a newest revision of a key":  record(kindBase, change{key: "x", revision: 9}),
		"a key that is not text":      record(kindSet, change{key: "\xff", revision: 9}),
		"a value longer than any":     record(kindSet, change{key: "x", value: make([]byte, protocol.MaxStorageValue+1), revision: 9}),
		"nothing before a record":     append(make([]byte, headerBytes), record(kindSet, change{key: "x", revision: 9})...),
		"an unknown kind, and others": append(record(9, change{key: "x", revision: 9}), record(kindSet, change{key: "x", revision: 10})...),
	} {
		t.Run(name, func(t *testing.T) {
			path := put(t, append(bytes.Clone(whole), tail...))
			f, heard := faulty(t, path)
			_, err := f.Get(t.Context(), "b")
			wantCode(t, err, protocol.CodeStorageFailed)
			_, err = f.Set(t.Context(), "b", nil, nil)
			wantCode(t, err, protocol.CodeStorageFailed)
			if len(*heard) != 2 || !strings.Contains((*heard)[0], "damaged at byte") {
				t.Errorf("the host heard %q", *heard)
			}
			if now := fileSize(t, path); now != int64(len(whole)+len(tail)) {
				t.Errorf("the file was changed: it has %d bytes, it had %d", now, len(whole)+len(tail))
			}
		})
	}
}
