package hosttest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// AwaitFile returns once a file exists and has the word in it, which may be empty.
// Its directory must be there. The error is the system's, or the context's cause
// if that ends first.
func AwaitFile(ctx context.Context, path, word string) (err error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.Add(filepath.Dir(path)); err != nil {
		return err
	}
	for {
		b, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(b), word) {
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		select {
		case <-w.Events:
		case err := <-w.Errors:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
