package storage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/quoinhq/quoin/plugins/protocol"
)

const (
	// lockRetry is how often a lock that another process holds is tried. It is held
	// for one change.
	lockRetry = 2 * time.Millisecond
	// maxFileBytes bounds a file that is read: many times what one can hold.
	maxFileBytes = 8 * protocol.MaxStorageBytes
)

// File is a storage in a file. It is opened with its first use, and is good until
// Close.
type File struct {
	path string
	lock *flock.Flock
	fail func(error)

	mu   sync.Mutex
	file *os.File // nil: not opened
	t    table
	read int64 // how much of the file is in t
	dead int64 // how much of that counts no more
}

var _ protocol.Storage = (*File)(nil)

// Open returns the storage in the file of that path, whose folder is made when
// something is stored. fail is told why the file cannot be read or written, with
// names of files, which the errors of the methods do not have.
func Open(path string, fail func(error)) *File {
	return &File{path: path, lock: flock.New(path+".lock", flock.SetPermissions(0o600)), fail: fail}
}

// Get implements protocol.Storage.
func (f *File) Get(ctx context.Context, key string) (e protocol.StorageEntry, err error) {
	if err := protocol.CheckStorageKey(key); err != nil {
		return e, err
	}
	err = f.look(ctx, func() { e = f.t.entries[key] })
	return e, err
}

// List implements protocol.Storage.
func (f *File) List(ctx context.Context, prefix, after string, limit int) (keys []string, more bool, err error) {
	err = f.look(ctx, func() { keys, more = f.t.list(prefix, after, limit) })
	return keys, more, err
}

// Set implements protocol.Storage.
func (f *File) Set(ctx context.Context, key string, value []byte, expect *uint64) (uint64, error) {
	return f.change(ctx, key, owned(value), expect)
}

// Delete implements protocol.Storage.
func (f *File) Delete(ctx context.Context, key string, expect *uint64) error {
	_, err := f.change(ctx, key, nil, expect)
	return err
}

// Close gives the file back. The storage may be used again.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.lock.Close(), f.forget())
}

// forget closes the file and empties the memory of it.
func (f *File) forget() (err error) {
	if f.file != nil {
		err = f.file.Close()
	}
	f.file, f.t, f.read, f.dead = nil, table{}, 0, 0
	return err
}

// look runs do on what is stored now.
func (f *File) look(ctx context.Context, do func()) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := os.Stat(f.path); errors.Is(err, os.ErrNotExist) {
		err := f.forget()
		do()
		return f.failed(err)
	}
	return f.locked(ctx, f.lock.TryRLockContext, func() error {
		err := f.catchUp()
		if err == nil || errors.Is(err, errTorn) { // the torn end is the next writer's
			do()
			return nil
		}
		return err
	})
}

// change makes one change durable.
func (f *File) change(ctx context.Context, key string, value []byte, expect *uint64) (revision uint64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return 0, f.failed(err)
	}
	err = f.locked(ctx, f.lock.TryLockContext, func() error {
		if err := f.prepare(); err != nil {
			return err
		}
		c, err := f.t.plan(key, value, expect)
		if err != nil || value == nil && f.t.counted(key) == 0 {
			return err
		}
		revision = c.revision
		return f.append(c)
	})
	return revision, err
}

// locked runs do under the lock beside the file. The caller holds mu.
func (f *File) locked(ctx context.Context, lock func(context.Context, time.Duration) (bool, error), do func() error) error {
	if _, err := lock(ctx, lockRetry); ctx.Err() != nil {
		return protocol.NewError(protocol.KindCancelled, protocol.CodeCancelled, "the request was cancelled")
	} else if err != nil {
		return f.failed(err)
	}
	err := do()
	if uerr := f.lock.Unlock(); err == nil {
		err = uerr
	}
	return f.failed(err)
}

// failed is err for the plugin: what it is not to know is said to the host.
func (f *File) failed(err error) error {
	var own *protocol.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	f.fail(fmt.Errorf("storage %s: %w", f.path, err))
	return protocol.NewError(protocol.KindProcess, protocol.CodeStorageFailed, "the host cannot read or write the plugin's storage; its log says why")
}

// prepare makes the file ready to be appended to. The caller holds the lock alone.
func (f *File) prepare() error {
	switch err := f.catchUp(); {
	case errors.Is(err, errTorn):
		if err := f.file.Truncate(f.read); err != nil {
			return err
		}
	case errors.Is(err, os.ErrNotExist):
		return errors.Join(f.forget(), f.rewrite())
	case err != nil:
		return err
	}
	if f.dead > max(1<<20, f.read-f.dead) {
		return f.rewrite()
	}
	return nil
}

// append writes one change and applies it.
func (f *File) append(c change) error {
	kind := byte(kindSet)
	if c.value == nil {
		kind = kindDelete
	}
	record := appendRecord(nil, kind, c)
	_, err := f.file.WriteAt(record, f.read)
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil { // it must not count later, after it was said to have failed
		return errors.Join(err, f.file.Truncate(f.read))
	}
	f.take(c, int64(len(record)))
	return nil
}

// take applies a change that n bytes of the file hold.
func (f *File) take(c change, n int64) {
	if f.t.counted(c.key) > 0 {
		f.dead += headerBytes + int64(f.t.counted(c.key))
	}
	if c.value == nil {
		f.dead += n
	}
	f.t.apply(c)
	f.read += n
}

// catchUp reads what the file has beyond what was read. It returns errTorn after
// the last whole record.
func (f *File) catchUp() error {
	size, err := f.reopen()
	if err != nil {
		return err
	}
	if size > maxFileBytes {
		return fmt.Errorf("it has %d bytes; no storage needs more than %d", size, int64(maxFileBytes))
	}
	r := bufio.NewReaderSize(io.NewSectionReader(f.file, f.read, size-f.read), 64<<10)
	for {
		c, n, err := readRecord(r, size-f.read)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTorn):
			return err
		case err != nil:
			return fmt.Errorf("damaged at byte %d: %v", f.read, err) // not one of the plugin's errors
		}
		f.take(c, n)
		if len(f.t.entries) > protocol.MaxStorageKeys || f.t.bytes > protocol.MaxStorageBytes {
			return fmt.Errorf("it holds %d keys and %d bytes, more than any may", len(f.t.entries), f.t.bytes)
		}
	}
}

// reopen opens the file if it is not open, or another one by now, and returns its
// size.
func (f *File) reopen() (int64, error) {
	there, err := os.Stat(f.path)
	if err != nil {
		return 0, err
	}
	if f.file != nil {
		st, err := f.file.Stat()
		if err != nil {
			return 0, err
		}
		if os.SameFile(st, there) && st.Size() >= f.read {
			return st.Size(), nil
		}
		if err := f.forget(); err != nil {
			return 0, err
		}
	}
	file, err := os.OpenFile(f.path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	head := make([]byte, len(magic))
	if _, err := file.ReadAt(head, 0); err != nil || string(head) != magic {
		return 0, errors.Join(errors.New("it is no storage of a plugin"), file.Close())
	}
	st, err := file.Stat()
	if err != nil {
		return 0, errors.Join(err, file.Close())
	}
	f.file, f.read = file, int64(len(magic))
	return st.Size(), nil
}

// rewrite writes the file anew, with nothing that counts no more. The caller holds
// the lock alone.
func (f *File) rewrite() error {
	b := appendRecord([]byte(magic), kindBase, change{revision: f.t.revision})
	keys, _ := f.t.list("", "", 0)
	for after := ""; len(keys) > 0; keys, _ = f.t.list("", after, 0) {
		for _, key := range keys {
			e := f.t.entries[key]
			b = appendRecord(b, kindSet, change{key: key, value: e.Value, revision: e.Revision})
			after = key
		}
	}
	fresh := f.path + ".new"
	if err := writeDurably(fresh, b); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	// Some systems do not replace what is open.
	if err := errors.Join(f.forget(), os.Rename(fresh, f.path), syncDir(filepath.Dir(f.path))); err != nil {
		return err
	}
	return f.catchUp()
}

func writeDurably(path string, b []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
