package pluginstorage

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/plugins/protocol"
)

func fileSize(t testing.TB, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

// written is a file with a few changes, and where its last record starts.
func written(t testing.TB) (b []byte, last int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.kv")
	f := opened(t, path)
	set(t, f, "a", "1")
	set(t, f, "b", "2")
	if err := f.Delete(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	last = int(fileSize(t, path))
	set(t, f, "c", "three")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b, last
}

func put(t testing.TB, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.kv")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestATornEndIsCutOff ends a file at every byte of its last record, and after
// zeros that stand for bytes that were not written.
func TestATornEndIsCutOff(t *testing.T) {
	whole, last := written(t)
	for n := last; n < len(whole); n++ {
		for _, b := range [][]byte{whole[:n], append(bytes.Clone(whole[:last]), make([]byte, n-last)...)} {
			path := put(t, b)
			f := opened(t, path)
			want(t, f, "b", "2")
			want(t, f, "c", "-")
			want(t, f, "a", "-")
			set(t, f, "d", "4")
			want(t, opened(t, path), "d", "4")
			want(t, opened(t, path), "c", "-")
		}
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-1]++
	want(t, opened(t, put(t, flipped)), "c", "-")
}

// TestDamageIsReported changes a byte of records that others follow.
func TestDamageIsReported(t *testing.T) {
	whole, last := written(t)
	for at := range last {
		b := bytes.Clone(whole)
		b[at] ^= 0x40
		var heard []string
		f := Open(put(t, b), func(err error) { heard = append(heard, err.Error()) })
		_, err := f.Get(t.Context(), "b")
		_, seterr := f.Set(t.Context(), "b", []byte("new"), nil)
		if cerr := f.Close(); cerr != nil {
			t.Error(cerr)
		}
		wantCode(t, err, protocol.CodeStorageFailed)
		wantCode(t, seterr, protocol.CodeStorageFailed)
		if strings.Contains(err.Error(), "p.kv") {
			t.Errorf("the plugin is told of the host's files: %v", err)
		}
		if len(heard) != 2 || !strings.Contains(heard[0], "p.kv") {
			t.Errorf("the host heard %q", heard)
		}
	}
}

func TestWhatIsNoStorageIsLeftAlone(t *testing.T) {
	path := put(t, []byte("somebody's letters"))
	f := Open(path, func(error) {})
	_, err := f.Set(t.Context(), "a", nil, nil)
	wantCode(t, err, protocol.CodeStorageFailed)
	if b, err := os.ReadFile(path); err != nil || string(b) != "somebody's letters" {
		t.Errorf("%q, %v", b, err)
	}
}

// FuzzFile reads arbitrary files. What is accepted must be within the limits, take
// changes and be read again as it was.
func FuzzFile(f *testing.F) {
	whole, last := written(f)
	f.Add(whole)
	f.Add(whole[:last+3])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := put(t, b)
		s := Open(path, func(error) {})
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		if _, err := s.Set(t.Context(), "fuzz", []byte("x"), nil); err != nil {
			return
		}
		if len(s.t.entries) > protocol.MaxStorageKeys || s.t.bytes > protocol.MaxStorageBytes {
			t.Fatalf("%d keys, %d bytes", len(s.t.entries), s.t.bytes)
		}
		again := opened(t, path)
		keys, _, err := s.List(t.Context(), "", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			want(t, again, k, string(s.t.entries[k].Value))
		}
	})
}
