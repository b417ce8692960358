package runstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Sealer writes and reads the files of another store of the same installation.
// They are sealed with a key made of the directory's own, so that whoever cannot
// forge a run cannot forge them either. It is safe for concurrent use.
type Sealer struct{ key []byte }

// maxSealed bounds the files a Sealer reads, in bytes.
const maxSealed = 4 << 20

// Sealer returns the sealer for one purpose. Files of different purposes cannot
// be passed off as each other.
func (d *Dir) Sealer(purpose string) *Sealer {
	return &Sealer{key: sum(d.key, []byte("quoin sealer: "+purpose))}
}

// Create writes a new file of mode 0600, complete or not at all, and on disk when
// it returns. If the name is taken the error is fs.ErrExist and nothing changes:
// of several that create one name, exactly one succeeds.
func (s *Sealer) Create(path string, content []byte) error {
	tmp, err := s.aside(path, content)
	if err != nil {
		return err
	}
	err = os.Link(tmp, path)
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	return errors.Join(err, os.Remove(tmp))
}

// Replace is Create for a name that may be taken.
func (s *Sealer) Replace(path string, content []byte) error {
	tmp, err := s.aside(path, content)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return syncDir(filepath.Dir(path))
}

// aside writes the file under a name of its own, with the extension .tmp.
func (s *Sealer) aside(path string, content []byte) (string, error) {
	if len(content) > maxSealed-4<<10 {
		return "", fmt.Errorf("%s would have %d bytes, at most %d fit", path, len(content), maxSealed-4<<10)
	}
	tmp := asideOf(path)
	if err := writeSynced(tmp, seal(s.key, kindOther, []byte(filepath.Base(path)), content)); err != nil {
		return "", errors.Join(err, os.Remove(tmp))
	}
	return tmp, nil
}

// Read returns the content of a file, which must have been written under its
// present name. The error is ErrCorrupt if it does not verify, and of package fs
// if it is not there.
func (s *Sealer) Read(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.Size() > maxSealed {
		return nil, fmt.Errorf("%w: %s has %d bytes", ErrCorrupt, path, st.Size())
	}
	b, err := readRegular(path)
	if err != nil {
		return nil, err
	}
	name, content, err := unseal(s.key, kindOther, b)
	if err == nil && string(name) != filepath.Base(path) {
		err = fmt.Errorf("%w: %s was written under another name", ErrCorrupt, path)
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}

// Names lists the files of a directory that have the extension, without it.
func Names(dir, ext string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ext); ok {
			out = append(out, name)
		}
	}
	return out, nil
}
