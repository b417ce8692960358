package runstore

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/quoinhq/quoin/internal/durable"
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

// readRegular reads a file of the store.
func readRegular(path string, limit int64) ([]byte, error) {
	b, err := durable.ReadFile(path, limit)
	if errors.Is(err, durable.ErrNotRegular) || errors.Is(err, durable.ErrTooLarge) {
		why := durable.ErrNotRegular // without the path, which models must not see
		if errors.Is(err, durable.ErrTooLarge) {
			why = durable.ErrTooLarge
		}
		return nil, fmt.Errorf("%w: %s: %w", ErrCorrupt, filepath.Base(path), why)
	}
	return b, err
}

// ignore is err unless it is the one that may be.
func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
