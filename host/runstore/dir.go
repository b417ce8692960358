package runstore

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/internal/durable"
)

const (
	recordExt = ".run"
	endedExt  = ".end"
	lockExt   = ".lock"
	tempExt   = durable.TempExt
	keyName   = "key"
	storeName = "store"
)

// idPattern keeps ids from naming anything outside the directory.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// Dir is a Store in a directory. Records survive the process, and several
// processes may use one directory at the same time. Each run has one file: Create
// writes it aside, syncs and renames it; Checkpoint and PutCalls append to it and sync.
// A claim is a lock on another file, which has the epoch in it.
type Dir struct {
	path string
	key  []byte
	id   string // see Identity
	// held is how many records this process knows of: records of others that share the
	// directory are counted again when it looks full.
	held atomic.Int64

	mu   sync.Mutex
	open map[string]*open // by run id

	schedule schedule

	listMu sync.Mutex
	listed map[string]listedFile // by run id
}

var (
	_ Store       = (*Dir)(nil)
	_ Identified  = (*Dir)(nil)
	_ EffectStore = (*Dir)(nil)
)

// OpenDir opens the store in path, creating the directory (mode 0700), its key (mode
// 0600) and its id where they do not exist.
func OpenDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("directory of suspended runs: %w", err)
	}
	key, err := loadKey(filepath.Join(path, keyName))
	if err != nil {
		return nil, err
	}
	id, err := loadID(filepath.Join(path, storeName))
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, key: key, id: id}
	ids, err := names(d.path, recordExt)
	if err != nil {
		return nil, err
	}
	d.held.Store(int64(len(ids)))
	return d, nil
}

// Identity implements Identified.
func (d *Dir) Identity() string { return d.Key().StoreIdentity(d.id) }

// loadID returns the id in path, which tells a directory from others with its key. It
// makes one if there is no file; two processes that start at the same time agree.
func loadID(path string) (string, error) {
	id, err := durable.ReadFile(path, maxID)
	if errors.Is(err, fs.ErrNotExist) {
		if err := ignore(durable.Create(path, []byte(rand.Text()), durable.Options{}), fs.ErrExist); err != nil {
			return "", fmt.Errorf("id of the run store: %w", err)
		}
		id, err = durable.ReadFile(path, maxID)
	}
	if err == nil && len(id) == 0 {
		err = errors.New("the file is empty, expected the id of the store")
	}
	if err != nil {
		return "", fmt.Errorf("id of the run store, %s: %w", path, err)
	}
	return string(id), nil
}

// maxID bounds the id of a directory.
const maxID = 256

func (d *Dir) file(id, ext string) (string, error) {
	if !idPattern.MatchString(id) {
		return "", ErrNotFound
	}
	return filepath.Join(d.path, id+ext), nil
}

// replace puts b under name so that a reader sees the old file or the new one. The
// file's modification time is when the record expires: Sweep need not read the
// others. It is a hint only; what counts is in the record.
func (d *Dir) replace(name string, b []byte, expires time.Time) error {
	return durable.Replace(name, b, durable.Options{ModTime: expires})
}

// Get implements Store.
func (d *Dir) Get(_ context.Context, id string) (*Record, error) {
	l, err := d.get(id)
	if l == nil {
		return nil, err
	}
	return l.record, err
}

func (d *Dir) get(id string) (*log, error) {
	name, err := d.file(id, recordExt)
	if err != nil {
		return nil, err
	}
	if d.hasEnded(id) {
		return nil, ErrEnded
	}
	l, err := d.readFile(name)
	if err != nil {
		return nil, err
	}
	r := l.record
	if r.ID != id {
		return nil, fmt.Errorf("%w: file of another run", ErrCorrupt)
	}
	if !time.Now().Before(r.Expires) {
		return l, ErrExpired
	}
	return l, nil
}

func (d *Dir) readFile(name string) (*log, error) {
	b, err := readRegular(name, maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return readLog(d.key, b)
}

// Sealer returns the sealer for one purpose. Contents of different purposes cannot
// be passed off as each other.
func (d *Dir) Sealer(purpose string) *Sealer { return d.Key().Sealer(purpose) }

// Cipher returns AES-256-GCM with a key of one purpose, made of the directory's own, for
// files with secrets. Seal it with a nil nonce: it draws one and puts it in front.
func (d *Dir) Cipher(purpose string) (cipher.AEAD, error) { return d.Key().Cipher(purpose) }

// Key returns the key of the directory.
func (d *Dir) Key() *Key { return &Key{d.key} }

// listedFile is a record without its image, and the file that it was read from. A list of a
// few runs must not read the images of all others each time.
type listedFile struct {
	info   fs.FileInfo // nil: it is read again
	record Record
}

// hasEnded reports whether a run has a result. What cannot be looked at is no result.
func (d *Dir) hasEnded(id string) bool {
	_, err := os.Lstat(filepath.Join(d.path, id+endedExt))
	return err == nil
}

// has reports whether there is a record or a result of a run.
func (d *Dir) has(id string) bool {
	_, err := os.Lstat(filepath.Join(d.path, id+recordExt))
	return !errors.Is(err, fs.ErrNotExist) || d.hasEnded(id)
}

// open is what this process knows of a run file that it writes to. The holder
// of the run's claim is the only writer.
type open struct {
	mu         sync.Mutex
	info       os.FileInfo // nil: the file has to be read before it is appended to
	size       int64
	chain      *chain
	generation uint64
	epoch      uint64 // the newest of a claim that wrote to the file
	expires    time.Time
	calls      map[uint64]bool // by id: calls of the newest record
	// A sync has failed: what is in the file may not be on disk whatever the next
	// sync says.
	unsure bool
}

// schedule is what Due has found out before. The zero value is ready for use.
type schedule struct {
	wakes wakes // channels only

	mu    sync.Mutex
	files map[string]known // by run
}

// known is what a look at a run file has found.
type known struct {
	info    fs.FileInfo
	at      time.Time // see Record.DueAt
	due     bool
	expires time.Time
}
