package pluginstorage

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// A file is magic and then records: a header, key and value. The header has a
// checksum of what follows in it, the kind, the lengths of key and value, the
// revision, and a checksum of key and value. Numbers are big-endian. A header that
// can be trusted tells a record that was never finished from one that rots.
const (
	magic       = "QUOINKV1"
	headerBytes = 4 + 1 + 2 + 4 + 8 + 4
)

// The kinds of records.
const (
	kindSet    = 1
	kindDelete = 2
	kindBase   = 3 // without key and value: the newest revision of a file that was rewritten
)

var checksums = crc32.MakeTable(crc32.Castagnoli)

// errTorn: a file ends within a record.
var errTorn = errors.New("the file ends within a record")

// appendRecord appends the record of c to b.
func appendRecord(b []byte, kind byte, c change) []byte {
	from := len(b)
	b = append(b, 0, 0, 0, 0, kind)
	b = binary.BigEndian.AppendUint16(b, uint16(len(c.key)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.value)))
	b = binary.BigEndian.AppendUint64(b, c.revision)
	body := append([]byte(c.key), c.value...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(body, checksums))
	binary.BigEndian.PutUint32(b[from:], crc32.Checksum(b[from+4:], checksums))
	return append(b, body...)
}

// readRecord reads one record of left bytes that remain, and says how long it was.
// It returns io.EOF at the end of the file, errTorn for a torn end, and another error
// for damage.
func readRecord(r *bufio.Reader, left int64) (c change, n int64, err error) {
	if left == 0 {
		return c, 0, io.EOF
	}
	if left < headerBytes {
		return c, 0, errTorn
	}
	var h [headerBytes]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return c, 0, err
	}
	if h == [headerBytes]byte{} {
		return c, 0, tornZeros(r)
	}
	if crc32.Checksum(h[4:], checksums) != binary.BigEndian.Uint32(h[:]) {
		return c, 0, errors.New("the header of a record does not have its checksum")
	}
	kind, keyLen, valueLen := h[4], int(binary.BigEndian.Uint16(h[5:])), int(binary.BigEndian.Uint32(h[7:]))
	if keyLen > protocol.MaxStorageKey || valueLen > protocol.MaxStorageValue {
		return c, 0, errors.New("a record is longer than any may be")
	}
	n = int64(headerBytes + keyLen + valueLen)
	if n > left {
		return c, 0, errTorn
	}
	body := make([]byte, keyLen+valueLen)
	if _, err := io.ReadFull(r, body); err != nil {
		return c, 0, err
	}
	if crc32.Checksum(body, checksums) != binary.BigEndian.Uint32(h[19:]) {
		if n == left {
			return c, 0, errTorn // the last one: it was being written
		}
		return c, 0, errors.New("a record does not have its checksum")
	}
	c = change{key: string(body[:keyLen]), revision: binary.BigEndian.Uint64(h[11:])}
	if kind == kindSet {
		c.value = body[keyLen:]
	}
	return c, n, checkRecord(kind, c, valueLen)
}

// tornZeros is errTorn if nothing but zeros follows: the length of the file was
// written, and the bytes were not.
func tornZeros(r *bufio.Reader) error {
	for {
		switch b, err := r.ReadByte(); {
		case errors.Is(err, io.EOF):
			return errTorn
		case err != nil:
			return err
		case b != 0:
			return errors.New("a record is empty")
		}
	}
}

func checkRecord(kind byte, c change, valueLen int) error {
	switch {
	case c.revision == 0 && kind != kindBase:
		return errors.New("a record has no revision")
	case kind == kindSet:
		return protocol.CheckStorageEntry(c.key, c.value)
	case kind == kindDelete && valueLen == 0:
		return protocol.CheckStorageKey(c.key)
	case kind == kindBase && valueLen == 0 && c.key == "":
		return nil
	}
	return fmt.Errorf("a record is of an unknown kind %d", kind)
}
