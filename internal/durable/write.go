package durable

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// TempExt is the extension of the temporary files that [Replace] and [Create]
// write. A store may remove those that are old.
const TempExt = ".tmp"

// Options say how a file is written. The zero value is good.
type Options struct {
	// Mode is the file's mode. Defaults to 0600.
	Mode fs.FileMode
	// ModTime is the modification time that the file has as soon as it is visible.
	// Defaults to the time of the write.
	ModTime time.Time
	// Lazy does not wait for the disk: a machine that stops may lose the file, and what
	// Replace has replaced.
	Lazy bool
}

// Replace writes data to path, in place of the file that may be there.
func Replace(path string, data []byte, o Options) error {
	temp, err := writeTemp(path, whole(data), o)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if o.Lazy {
		return nil
	}
	return SyncDir(filepath.Dir(path))
}

// link is os.Link. Tests replace it to stand for a file system without links.
var link = os.Link

// Create writes data to path, which must not exist: the error is fs.ErrExist if it
// does. On a file system without links a crash may leave a part of the file. If several callers create one path at the same time, exactly one succeeds.
func Create(path string, data []byte, o Options) error {
	return CreateFrom(path, whole(data), o)
}

// whole writes data.
func whole(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// CreateFrom is [Create] of what write writes. Nothing is created if that fails. It may be
// called twice, and then writes the same again.
func CreateFrom(path string, write func(io.Writer) error, o Options) error {
	temp, err := writeTemp(path, write, o)
	if err != nil {
		return err
	}
	err = link(temp, path)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		err = writeNew(path, write, o) // FAT and some network file systems have no links
	}
	if removed := os.Remove(temp); removed != nil {
		return errors.Join(err, removed)
	}
	var linkErr *os.LinkError
	if errors.As(err, &linkErr) { // the temporary name means nothing to the caller
		return &fs.PathError{Op: "create", Path: path, Err: linkErr.Err}
	}
	if err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// writeTemp writes and syncs a file next to path, under a name that no other
// process uses.
func writeTemp(path string, write func(io.Writer) error, o Options) (temp string, err error) {
	temp = path + "." + rand.Text() + TempExt
	return temp, writeNew(temp, write, o)
}

// writeNew writes and syncs a file that must not exist. It removes the file if that
// fails.
func writeNew(path string, write func(io.Writer) error, o Options) (err error) {
	if o.Mode == 0 {
		o.Mode = 0o600
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, o.Mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	err = write(f)
	if err == nil {
		err = f.Chmod(o.Mode) // the umask does not count
	}
	if err == nil && !o.ModTime.IsZero() {
		err = os.Chtimes(path, o.ModTime, o.ModTime)
	}
	if err == nil && !o.Lazy {
		err = Sync(f)
	}
	return errors.Join(err, f.Close())
}

// Sync waits until what was written to f is on disk. Tests replace it to let a disk
// fail.
var Sync = (*os.File).Sync
