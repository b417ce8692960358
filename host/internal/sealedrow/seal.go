package sealedrow

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// Bounds of what is written of a run, in bytes.
const (
	MaxField   = 256 << 20 // its record, its image
	MaxJournal = 256 << 20 // what has become of its calls
	// MaxRun bounds a run with its journal that is read: two fields, and the journal. Its seals
	// are at most half as large as what is sealed.
	MaxRun = 2*MaxField + MaxJournal + MaxJournal/2
)

// The purposes of seals.
const (
	sealRun     = "run"
	sealEnded   = "ended run"
	sealJournal = "journal"
	sealEffects = "effects"
	sealEffect  = "effect"
)

// IDs is what the ids of runs look like.
var IDs = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// Sealer seals rows with a key.
type Sealer struct{ Key *runstore.Key }

// sum makes the seal of fields that are bound to their purpose and their number.
func (s Sealer) sum(purpose string, fields ...[]byte) []byte {
	parts := make([][]byte, 0, 2*len(fields))
	for _, f := range fields {
		parts = append(parts, binary.LittleEndian.AppendUint64(nil, uint64(len(f))), f)
	}
	return s.Key.Sum(purpose, parts...)
}

// KeyID is a fingerprint of the key: it tells keys apart and says nothing else.
func (s Sealer) KeyID() string { return fmt.Sprintf("%x", s.Key.Sum("fingerprint")[:8]) }

// Run is the row of a suspended run, or of the result of a run that has ended.
type Run struct {
	Ended    bool
	Header   []byte // the record or the result, as JSON, without Image
	Image    []byte // of the guest, or the value of the result
	ImageSum []byte
	Seal     []byte // of all but Image
}

func (r *Run) purpose() string {
	if r.Ended {
		return sealEnded
	}
	return sealRun
}

// run makes the row of a run.
func (s Sealer) run(id string, ended bool, header, image []byte) (*Run, error) {
	if len(header) > MaxField || len(image) > MaxField {
		return nil, fmt.Errorf("%w: %d and %d bytes, at most %d each", runstore.ErrTooLarge, len(header), len(image), MaxField)
	}
	sum := sha256.Sum256(image)
	row := &Run{Ended: ended, Header: header, Image: image, ImageSum: sum[:]}
	if row.Image == nil {
		row.Image = []byte{}
	}
	row.Seal = s.sum(row.purpose(), []byte(id), header, row.ImageSum)
	return row, nil
}

// verify verifies a row before anything in it is looked at; of the image only if whole.
func (s Sealer) verify(id string, r *Run, whole bool) error {
	if !hmac.Equal(r.Seal, s.sum(r.purpose(), []byte(id), r.Header, r.ImageSum)) {
		return Corrupt("the seal of the run does not verify")
	}
	if whole {
		if sum := sha256.Sum256(r.Image); !hmac.Equal(sum[:], r.ImageSum) {
			return Corrupt("the seal of the image does not verify")
		}
	}
	return nil
}

// Corrupt is the error of rows that no host has written.
func Corrupt(why string) error { return fmt.Errorf("%w: %s", runstore.ErrCorrupt, why) }

// CheckSize refuses a run that no host has written.
func CheckSize(bytes, most int64) error {
	if bytes > most {
		return Corrupt(fmt.Sprintf("it has %d bytes with its journal, at most %d are written", bytes, most))
	}
	return nil
}

// Expired returns an error if a time is over.
func Expired(expires, now time.Time) error {
	if now.Before(expires) {
		return nil
	}
	return runstore.ErrExpired
}
