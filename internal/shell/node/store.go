package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/internal/ownership"
)

// maxFileBytes bounds a file of a store.
const maxFileBytes = 64 << 10

// store is a directory of JSON files that their owner alone may use.
type store struct{ dir string }

const extension = ".json"

// path is the file of a name, which has been checked.
func (s store) path(name string) string { return filepath.Join(s.dir, name+extension) }

// open makes the directory, and refuses one that another user could change.
func (s store) open() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return s.check()
}

// check refuses a directory that another user could change.
func (s store) check() error {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return err
	}
	return ownership.CheckState(dir)
}

// create writes a file that must not exist.
func (s store) create(name string, v any) error {
	if err := s.open(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return durable.Create(s.path(name), append(data, '\n'), durable.Options{Mode: 0o600})
}

// read reads a file into v. The error is fs.ErrNotExist if it is not there.
func (s store) read(name string, v any) error {
	if err := s.check(); err != nil {
		return err
	}
	data, err := durable.ReadPrivate(s.path(name), maxFileBytes)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", s.path(name), err)
	}
	return nil
}

// remove removes a file, and makes that durable. One of several callers succeeds; the
// error of the others is fs.ErrNotExist.
func (s store) remove(name string) error {
	if err := os.Remove(s.path(name)); err != nil {
		return err
	}
	return durable.SyncDir(s.dir)
}

// names lists the files. A store that was never used has no names.
func (s store) names() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), extension); ok {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all, nil
}
