package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Backup writes what was committed at one moment into a new file, while hosts use the state. The file is
// the file state.db of a directory with the same file state.key. The error is fs.ErrExist if the
// file is there.
func (d *DB) Backup(ctx context.Context, path string) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("backup %s: %w", path, errors.Join(err, fs.ErrExist))
	}
	// No one who reads the folder sees half of a file, and no other user sees a part of it.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".backup-*")
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	half := filepath.Join(dir, FileName)
	conn, err := d.writer.pool.Conn(ctx)
	if err != nil {
		return explained(err)
	}
	_, err = conn.ExecContext(ctx, `VACUUM INTO ?`, half)
	if err := errors.Join(err, conn.Close()); err != nil {
		return fmt.Errorf("backup %s: %w", path, explained(err))
	}
	if err := syncFile(half); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return os.Rename(half, path)
}

// syncFile makes a file private, and has it on the disk.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Sync(), f.Close())
}
