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

// A sealed file is
//
//	magic (8) | kind (1) | header length (u32 LE) | header | body length (u32 LE) | body | HMAC-SHA256 (32)
//
// with the HMAC over everything before it. Kind keeps a journal from being
// passed off as a record; the run id inside the header keeps one run's file from
// being passed off as another's.
const (
	magic      = "QUOINRUN"
	sealBytes  = sha256.Size
	fixedBytes = len(magic) + 1 + 4 + 4 + sealBytes
	// maxHeader bounds what a reader allocates for metadata or a journal.
	maxHeader = 256 << 20
)

type fileKind byte

const (
	kindRecord  fileKind = 'R'
	kindJournal fileKind = 'J'
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

func sum(key, b []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(b)
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
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := writeSynced(tmp, fresh); err != nil {
		return nil, err
	}
	defer os.Remove(tmp)
	if err := os.Link(tmp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("key file of the run store: %w", err)
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

// readRegular reads a file that must be an ordinary one: opening a pipe in its
// place would wait for a writer.
func readRegular(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrCorrupt, filepath.Base(path))
	}
	return os.ReadFile(path)
}

// writeSynced writes a file of mode 0600 and waits until it is on disk.
func writeSynced(path string, parts ...[]byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if _, err := f.Write(p); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(f.Sync(), f.Close())
}
