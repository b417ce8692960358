package pluginstorage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// maxFileBytes bounds a file or a log that is read: many times what one can hold.
const maxFileBytes = 8 * protocol.MaxStorageBytes

// File is a storage in a file. It is opened with its first use, and is good until
// Close.
type File struct {
	path string
	lock *durable.FileLock
	fail func(error)

	mu   sync.Mutex
	file *os.File // nil: not opened
	t    table
	read int64 // bytes of the file that are in t
	dead int64 // bytes of those that later records have superseded
}

var _ protocol.Storage = (*File)(nil)

// Open returns the storage in the file of that path. The file's folder is made when
// something is stored. It calls fail with the reason when the file cannot be read or
// written: that error names files of the host, and the errors of the methods do not.
func Open(path string, fail func(error)) *File {
	return &File{path: path, lock: durable.NewLock(path + ".lock"), fail: fail}
}

// Get implements protocol.Storage.
func (f *File) Get(ctx context.Context, key string) (e protocol.StorageEntry, err error) {
	if err := protocol.CheckStorageKey(key); err != nil {
		return e, err
	}
	err = f.view(ctx, func() { e = f.t.entries[key] })
	return e, err
}

// List implements protocol.Storage.
func (f *File) List(ctx context.Context, prefix, after string, limit int) (keys []string, more bool, err error) {
	err = f.view(ctx, func() { keys, more = f.t.list(prefix, after, limit) })
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

// Close closes the file. The storage may be used again.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.lock.Close(), f.closeFile())
}

// closeFile closes the file and empties the memory of it.
func (f *File) closeFile() (err error) {
	if f.file != nil {
		err = f.file.Close()
	}
	f.file, f.t, f.read, f.dead = nil, table{}, 0, 0
	return err
}

// view runs do on what is stored now.
func (f *File) view(ctx context.Context, do func()) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := os.Stat(f.path); errors.Is(err, os.ErrNotExist) {
		err := f.closeFile()
		do()
		return f.failed(err)
	}
	return f.locked(ctx, true, func() error {
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
	err = f.locked(ctx, false, func() error {
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

// locked runs do under the lock file. The caller holds mu.
func (f *File) locked(ctx context.Context, shared bool, do func() error) error {
	err := f.lock.Lock(ctx, shared)
	switch {
	case err != nil && ctx.Err() == nil:
		return f.failed(err)
	case ctx.Err() != nil:
		if err := f.lock.Unlock(); err != nil { // it may have come at the last moment
			return f.failed(err)
		}
		return protocol.NewError(protocol.KindCancelled, protocol.CodeCancelled, "the request was cancelled")
	}
	err = do()
	if uerr := f.lock.Unlock(); err == nil {
		err = uerr
	}
	return f.failed(err)
}

// failed returns err for the plugin, and tells the host what the plugin must not know.
func (f *File) failed(err error) error { return hidden(err, "storage "+f.path, f.fail) }

// hidden returns err for the plugin, and calls fail with what it must not know.
func hidden(err error, what string, fail func(error)) error {
	var own *protocol.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	fail(fmt.Errorf("%s: %w", what, err))
	return protocol.NewError(protocol.KindProcess, protocol.CodeStorageFailed, "the host cannot read or write the plugin's storage; its log says why")
}

// prepare makes the file ready to be appended to. The caller holds the lock
// exclusively.
func (f *File) prepare() error {
	switch err := f.catchUp(); {
	case errors.Is(err, errTorn):
		if err := f.file.Truncate(f.read); err != nil {
			return err
		}
	case errors.Is(err, os.ErrNotExist):
		return errors.Join(f.closeFile(), f.rewrite())
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
		err = durable.Sync(f.file)
	}
	if err != nil { // it must not count later, after it was said to have failed
		return errors.Join(err, f.file.Truncate(f.read))
	}
	f.applied(c, int64(len(record)))
	return nil
}

// applied applies a change that n bytes of the file hold.
func (f *File) applied(c change, n int64) {
	if f.t.counted(c.key) > 0 {
		f.dead += headerBytes + int64(f.t.counted(c.key))
	}
	if c.value == nil {
		f.dead += n
	}
	f.t.apply(c)
	f.read += n
}

// catchUp reads the records that were appended since the last time. It returns errTorn
// if the file ends within a record.
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
		f.applied(c, n)
		if len(f.t.entries) > protocol.MaxStorageKeys || f.t.bytes > protocol.MaxStorageBytes {
			return fmt.Errorf("it holds %d keys and %d bytes, more than any may", len(f.t.entries), f.t.bytes)
		}
	}
}

// reopen opens the file if it is not open or was replaced, and returns its size.
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
		if err := f.closeFile(); err != nil {
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

// rewrite replaces the file by one without superseded records. The caller holds the
// lock exclusively.
func (f *File) rewrite() error {
	b := append([]byte(magic), bytes.Join(f.t.rewritten(), nil)...)
	// A process that died while it rewrote the file has left a temporary one. Some
	// systems do not replace a file that is open.
	err := errors.Join(f.removeTemps(), f.closeFile())
	if err == nil {
		err = durable.Replace(f.path, b, durable.Options{})
	}
	if err != nil {
		return err
	}
	return f.catchUp()
}

// removeTemps removes what is left of rewrites that did not end. The caller holds the
// lock exclusively, so that no rewrite is in progress.
func (f *File) removeTemps() error {
	dir, base := filepath.Split(f.path)
	files, err := os.ReadDir(filepath.Clean(dir))
	for _, file := range files {
		if name := file.Name(); strings.HasPrefix(name, base+".") && strings.HasSuffix(name, durable.TempExt) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
		}
	}
	return err
}

// Entries returns everything that is stored as entries of a Log.
func (f *File) Entries(ctx context.Context) (entries [][]byte, err error) {
	err = f.view(ctx, func() { entries = f.t.rewritten() })
	return entries, err
}
