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
// A claim is a lock on another file, which has the epoch in it. When a file was modified is
// when it expires, so that Sweep need not read the others: a hint, because what counts is
// inside.
type Dir struct {
	folder
	id string // see Identity
	// held is how many records this process knows of: records of others that share the
	// directory are counted again when it looks full.
	held atomic.Int64

	files    openFiles
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
	of := folder{path, key}
	d := &Dir{folder: of, id: id, files: openFiles{folder: of}, schedule: schedule{woken: wokenRuns{dir: filepath.Join(path, wokenDir)}}}
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

// Get implements Store.
func (d *Dir) Get(_ context.Context, id string) (*Record, error) {
	l, err := d.run(id)
	if l == nil {
		return nil, err
	}
	return l.record, err
}

// Sealer returns the sealer for one purpose. Contents of different purposes cannot
// be passed off as each other.
func (d *Dir) Sealer(purpose string) *Sealer { return d.Key().Sealer(purpose) }

// Cipher returns AES-256-GCM with a key of one purpose, made of the directory's own, for
// files with secrets. Seal it with a nil nonce: it draws one and puts it in front.
func (d *Dir) Cipher(purpose string) (cipher.AEAD, error) { return d.Key().Cipher(purpose) }

// Key returns the key of the directory.
func (d *Dir) Key() *Key { return &Key{d.key} }

// folder is the files of a directory: a file of a run has its id as its name, and the key
// seals them.
type folder struct {
	path string
	key  []byte
}

// file returns where a file of a run is, if the id can be one.
func (d folder) file(id, ext string) (string, error) {
	if !idPattern.MatchString(id) {
		return "", ErrNotFound
	}
	return d.at(id, ext), nil
}

// at returns where a file of a run is.
func (d folder) at(id, ext string) string { return filepath.Join(d.path, id+ext) }

// run reads the record of a run, if that has not ended or expired.
func (d folder) run(id string) (*log, error) {
	if _, err := d.file(id, recordExt); err != nil {
		return nil, err
	}
	if d.hasEnded(id) {
		return nil, ErrEnded
	}
	l, err := d.read(id)
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

// read reads the record of a run as it is.
func (d folder) read(id string) (*log, error) {
	b, err := readRegular(d.at(id, recordExt), maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return readLog(d.key, b)
}

// hasEnded reports whether a run has a result. What cannot be looked at is no result.
func (d folder) hasEnded(id string) bool {
	_, err := os.Lstat(d.at(id, endedExt))
	return err == nil
}

// has reports whether there is a record or a result of a run.
func (d folder) has(id string) bool {
	_, err := os.Lstat(d.at(id, recordExt))
	return !errors.Is(err, fs.ErrNotExist) || d.hasEnded(id)
}
