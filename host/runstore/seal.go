package runstore

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The file of a Sealer is
//
//	magic (8) | kind (1) | header length (u32 LE) | header | body length (u32 LE) | body | HMAC-SHA256 (32)
//
// with the HMAC over everything before it.
const (
	magic      = "QUOINRUN"
	sealBytes  = sha256.Size
	fixedBytes = len(magic) + 1 + 4 + 4 + sealBytes
	// maxHeader bounds each field of a file, in bytes.
	maxHeader = 256 << 20
)

type fileKind byte

const (
	kindRecord  fileKind = 'R' // of frames in run files
	kindJournal fileKind = 'J'
	kindOther   fileKind = 'O' // of the files of a Sealer
	kindEnded   fileKind = 'E' // of the results of runs that have ended
)

func seal(key []byte, kind fileKind, header, body []byte) []byte {
	b := make([]byte, 0, fixedBytes+len(header)+len(body))
	b = append(b, magic...)
	b = append(b, byte(kind))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	b = append(b, header...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	b = append(b, body...)
	return append(b, sum(key, b)...)
}

// unseal verifies b before it looks at any length inside it.
func unseal(key []byte, kind fileKind, b []byte) (header, body []byte, err error) {
	if len(b) < fixedBytes || !bytes.HasPrefix(b, []byte(magic)) {
		return nil, nil, fmt.Errorf("%w: too short or not a run file", ErrCorrupt)
	}
	payload, mac := b[:len(b)-sealBytes], b[len(b)-sealBytes:]
	if !hmac.Equal(mac, sum(key, payload)) {
		return nil, nil, fmt.Errorf("%w: seal does not verify", ErrCorrupt)
	}
	if fileKind(payload[len(magic)]) != kind {
		return nil, nil, fmt.Errorf("%w: wrong kind of file", ErrCorrupt)
	}
	rest := payload[len(magic)+1:]
	header, rest, ok := cut(rest)
	if !ok {
		return nil, nil, fmt.Errorf("%w: header length", ErrCorrupt)
	}
	body, rest, ok = cut(rest)
	if !ok || len(rest) != 0 {
		return nil, nil, fmt.Errorf("%w: body length", ErrCorrupt)
	}
	return header, body, nil
}

func cut(b []byte) (field, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := binary.LittleEndian.Uint32(b)
	if n > maxHeader || uint64(n) > uint64(len(b)-4) {
		return nil, nil, false
	}
	return b[4 : 4+n], b[4+n:], true
}

func sum(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// loadKey returns the key in path, making one of mode 0600 if there is none.
// Two processes that start at once agree on one key: the loser of the link reads
// the winner's.
func loadKey(path string) ([]byte, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	fresh := make([]byte, 32)
	if _, err := io.ReadFull(rand.Reader, fresh); err != nil {
		return nil, err
	}
	tmp := asideOf(path)
	err = writeSynced(tmp, fresh)
	if err == nil {
		err = os.Link(tmp, path)
	}
	if err := errors.Join(ignore(err, fs.ErrExist), ignore(os.Remove(tmp), fs.ErrNotExist)); err != nil {
		return nil, fmt.Errorf("key file of the run store: %w", err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return readKey(path)
}

func readKey(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := checkPrivate(path, st); err != nil {
		return nil, err
	}
	key, err := readRegular(path)
	if err != nil {
		return nil, err
	}
	if len(key) != 32 {
		return nil, fmt.Errorf("key file %s holds %d bytes, expected 32: remove it to start with a new key (runs suspended under the old one are lost)", path, len(key))
	}
	return key, nil
}

// readRegular reads a file that must be an ordinary one, of at most maxLog bytes:
// opening a pipe in its place would wait for a writer.
func readRegular(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrCorrupt, filepath.Base(path))
	}
	if st.Size() > maxLog {
		return nil, fmt.Errorf("%w: %s has %d bytes", ErrCorrupt, filepath.Base(path), st.Size())
	}
	return os.ReadFile(path)
}

// asideOf is a name beside path that nobody else uses, also no process that shares
// the directory and not the process ids.
func asideOf(path string) string { return path + "." + rand.Text() + tempExt }

// writeSynced writes a new file of mode 0600 and waits until it is on disk.
func writeSynced(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(fsync(f), f.Close())
}

// fsync waits until what was written to a file is on disk. Tests make it fail.
var fsync = (*os.File).Sync

// ignore is err unless it is the one that may be.
func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
