package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// The reasons why a file is not read, apart from errors of the system. The errors
// of this package wrap them and name the file.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrTooLarge   = errors.New("too large")
)

// Open opens a file for reading and fails with [ErrNotRegular] if it is a
// directory, a pipe or a device. It does not wait for the writer of a pipe.
func Open(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// Copy copies a regular file to w and returns the number of bytes. It fails with
// [ErrTooLarge] if the file has more than limit bytes.
func Copy(w io.Writer, path string, limit int64) (n int64, err error) {
	f, _, err := Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return copyBounded(w, f, limit)
}

func copyBounded(w io.Writer, f *os.File, limit int64) (int64, error) {
	n, err := io.Copy(w, io.LimitReader(f, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("%s: %w: more than %d bytes", f.Name(), ErrTooLarge, limit)
	}
	return n, err
}

// ReadFile reads a regular file of at most limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) {
	return readChecked(path, limit, func(fs.FileInfo) error { return nil })
}

// ReadPrivate is [ReadFile] of a file with a secret. It fails with a
// *[NotPrivateError] if the file belongs to another user than the one of this
// process or root, or if its mode gives anything to group or others.
func ReadPrivate(path string, limit int64) ([]byte, error) {
	return readChecked(path, limit, func(info fs.FileInfo) error { return checkPrivate(path, info) })
}

func readChecked(path string, limit int64, check func(fs.FileInfo) error) (_ []byte, err error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := check(info); err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s: %w: %d bytes, more than %d", path, ErrTooLarge, info.Size(), limit)
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit { // it grew
		err = fmt.Errorf("%s: %w: more than %d bytes", path, ErrTooLarge, limit)
	}
	return b, err
}

// NotPrivateError says that a file with a secret is open to other users.
type NotPrivateError struct {
	Path  string
	Mode  fs.FileMode // its permission bits
	Owner int         // the id of its user; -1 if the owner is right and the mode is not
	// Command repairs it. It is empty where the file is not the user's own.
	Command string
}

// Error names the path, what is wrong, and what there is to do.
func (e *NotPrivateError) Error() string {
	problem := fmt.Sprintf("has mode %04o, so that others can use it", e.Mode)
	if e.Owner >= 0 {
		problem = fmt.Sprintf("belongs to user %d, expected %d, who runs this", e.Owner, os.Geteuid())
	}
	remedy := "use a file of your own with mode 0600"
	if e.Command != "" {
		remedy = "run " + e.Command
	}
	return e.Path + " " + problem + ": " + remedy
}
