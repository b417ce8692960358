package documents_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/documents/documentstest"
	"github.com/quoinhq/quoin/internal/durable"
)

func openDir(t *testing.T, path string, o documents.DirOptions) *documents.Dir {
	t.Helper()
	d, err := documents.OpenDir(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDir(t *testing.T) {
	for name, o := range map[string]documents.DirOptions{"plain": {}, "private": {Private: true}, "late": {Late: true}} {
		t.Run(name, func(t *testing.T) {
			documentstest.Run(t, func(t *testing.T, transient bool) (one, other documents.Store) {
				o := o
				o.Transient, o.MaxBytes = transient, documentstest.MaxBytes
				path := filepath.Join(t.TempDir(), "documents")
				if o.Late { // what waits for a lock or a change needs a directory
					if err := os.Mkdir(path, 0o700); err != nil {
						t.Fatal(err)
					}
				}
				return openDir(t, path, o), openDir(t, path, o)
			}, func(t *testing.T, s documents.Store, lock string) {
				if err := os.Remove(s.Location(lock + ".lock")); err != nil {
					if runtime.GOOS == "windows" {
						t.Skip("files that are open stay: ", err)
					}
					t.Fatal(err)
				}
			})
		})
	}
}

// TestDirLocksLeaveNoFile: the file of a lock goes with its holder, and still no two have
// the lock, however many wait for it.
func TestDirLocksLeaveNoFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files that are open stay")
	}
	path := t.TempDir()
	var inside atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		d := openDir(t, path, documents.DirOptions{})
		all.Go(func() {
			for range 50 {
				_, unlock, err := d.Lock(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two have one lock")
				}
				inside.Add(-1)
				unlock()
			}
		})
	}
	all.Wait()
	left, err := os.ReadDir(path)
	if err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestALateDirectory is not there before its first document, which is no error.
func TestALateDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "documents")
	d := openDir(t, path, documents.DirOptions{Late: true})
	docs, err := d.All(t.Context(), ".json")
	if err != nil || len(docs) != 0 {
		t.Errorf("%v, %v", docs, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is there: %v", err)
	}
	if err := d.Create(t.Context(), "a.json", nil, time.Time{}); err != nil {
		t.Error(err)
	}
}

// TestAChangeThatNothingTellsOf is found by a look: the system tells of nothing in a directory
// that was not there.
func TestAChangeThatNothingTellsOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "documents")
	one, other := openDir(t, path, documents.DirOptions{Late: true}), openDir(t, path, documents.DirOptions{Late: true})
	one.LookOften()
	heard := one.Watch(t.Context(), ".json")
	if err := other.Create(t.Context(), "a.json", nil, time.Time{}); err != nil {
		t.Fatal(err)
	}
	<-heard
}

// TestOtherFilesAreNoDocuments: what is not a regular file, too large, or of others is not
// read.
func TestOtherFilesAreNoDocuments(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path, documents.DirOptions{MaxBytes: 10, Private: true})
	if err := os.Mkdir(filepath.Join(path, "folder.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "large.json"), make([]byte, 11), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"folder.json", "large.json"} {
		if b, err := d.Read(t.Context(), name); !errors.Is(err, documents.ErrCorrupt) {
			t.Errorf("%s: %q, %v, want ErrCorrupt", name, b, err)
		}
	}
	if runtime.GOOS == "windows" {
		return // modes do not say who may read a file
	}
	if err := os.WriteFile(filepath.Join(path, "open.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var open *durable.NotPrivateError
	if _, err := d.Read(t.Context(), "open.json"); !errors.As(err, &open) {
		t.Errorf("a file that others can read: %v", err)
	}
}

// TestSweepRemovesWhatDeadWritersLeft, and nothing that may be in use.
func TestSweepRemovesWhatDeadWritersLeft(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path, documents.DirOptions{})
	for name, age := range map[string]time.Duration{"a.json.X.tmp": 2 * time.Hour, "b.json.X.tmp": 0, "c.json": 2 * time.Hour} {
		file, when := filepath.Join(path, name), time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chtimes(file, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Sweep(t.Context(), time.Now(), 0); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(path, "*"))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "b.json.X.tmp" || filepath.Base(left[1]) != "c.json" {
		t.Errorf("left %q, %v", left, err)
	}
}

// TestADiskThatFails: a document that was not synced is not there, and the older one stays.
func TestADiskThatFails(t *testing.T) {
	d := openDir(t, t.TempDir(), documents.DirOptions{})
	was, errDisk := durable.Sync, errors.New("input/output error")
	t.Cleanup(func() { durable.Sync = was })
	fail := func() { durable.Sync = func(*os.File) error { durable.Sync = was; return errDisk } }
	fail()
	if err := d.Create(t.Context(), "a.json", []byte("old"), time.Time{}); !errors.Is(err, errDisk) {
		t.Fatalf("Create: %v", err)
	}
	if _, err := d.Read(t.Context(), "a.json"); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("Read of what was not created: %v", err)
	}
	if err := d.Create(t.Context(), "a.json", []byte("old"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	fail()
	if err := d.Replace(t.Context(), "a.json", []byte("new"), time.Time{}); !errors.Is(err, errDisk) {
		t.Fatalf("Replace: %v", err)
	}
	if b, err := d.Read(t.Context(), "a.json"); err != nil || string(b) != "old" {
		t.Errorf("after a failed Replace: %q, %v", b, err)
	}
}

// named stands in for a seal: it writes the name in front.
type named struct{}

func (named) Seal(name string, content []byte) []byte { return append([]byte(name+":"), content...) }

func (named) Open(name string, b []byte) ([]byte, error) {
	if len(b) <= len(name) || string(b[:len(name)+1]) != name+":" {
		return nil, errors.New("not sealed")
	}
	return b[len(name)+1:], nil
}

// TestSealed: what a driver keeps is sealed, and what was not is ErrCorrupt, one by one.
func TestSealed(t *testing.T) {
	ctx, plain := t.Context(), openDir(t, t.TempDir(), documents.DirOptions{})
	s := documents.Sealed(plain, named{})
	if err := errors.Join(s.Create(ctx, "a.json", []byte("1"), time.Time{}), s.Replace(ctx, "b.json", []byte("2"), time.Time{}),
		plain.Create(ctx, "c.json", []byte("a.json:1"), time.Time{})); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"a.json": "1", "b.json": "2"} {
		if b, err := s.Read(ctx, name); err != nil || string(b) != content {
			t.Errorf("%s has %q, %v", name, b, err)
		}
		if b, err := plain.Read(ctx, name); err != nil || string(b) != name+":"+content {
			t.Errorf("the driver has %q, %v", b, err)
		}
	}
	if b, err := s.Read(ctx, "c.json"); !errors.Is(err, documents.ErrCorrupt) {
		t.Errorf("what is sealed under another name: %q, %v", b, err)
	}
	docs, err := s.All(ctx, ".json")
	if err != nil || len(docs) != 3 {
		t.Fatalf("%v, %v", docs, err)
	}
	for _, doc := range docs {
		if corrupt := errors.Is(doc.Err, documents.ErrCorrupt); corrupt != (doc.Name == "c.json") {
			t.Errorf("%s: %q, %v", doc.Name, doc.Content, doc.Err)
		}
	}
}
