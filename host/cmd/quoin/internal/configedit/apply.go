package configedit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/internal/json5"
	"github.com/quoinhq/quoin/internal/durable"
)

// maxBytes bounds a configuration file.
const maxBytes = 4 << 20

// empty is the text of a file that is not there yet.
const empty = `// The configuration of Quoin. To check it: quoin config check
{}
`

// Apply changes the configuration file at path. Info is the info of the file before the
// change, or nil if Apply has made the file.
func Apply(ctx context.Context, path string, change func(text []byte) ([]byte, error)) (info fs.FileInfo, err error) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		target, err = path, os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	lock := durable.NewLock(filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".lock"))
	if err := lock.Lock(ctx, false); err != nil {
		return nil, fmt.Errorf("configuration: lock %s: %w", target, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	text, mode := []byte(empty), fs.FileMode(0o600)
	switch info, err = os.Stat(target); {
	case errors.Is(err, fs.ErrNotExist):
		info = nil
	case err != nil:
		return nil, fmt.Errorf("configuration: %w", err)
	default:
		mode = info.Mode().Perm()
		if text, err = durable.ReadFile(target, maxBytes); err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
	}
	return info, write(path, target, text, mode, change)
}

// write puts what the change makes of text in the place of target.
func write(path, target string, text []byte, mode fs.FileMode, change func([]byte) ([]byte, error)) error {
	changed, err := change(text)
	var syntax *json5.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%s:%w", path, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if bytes.Equal(changed, text) {
		return nil
	}
	if _, err := configfile.Load(configfile.Sources{Path: path, Text: changed}); err != nil {
		return fmt.Errorf("nothing is written, because the configuration would be wrong: %w", err)
	}
	return durable.Replace(target, changed, durable.Options{Mode: mode})
}
