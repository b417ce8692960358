package sealedrow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/quoinhq/quoin/host/runstore"
)

// TestLargeAnswersAreCompressed: an answer comes back as it was, whatever its size, and a large
// one takes less room.
func TestLargeAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	s := sealing(t, 1)
	r := &runstore.Record{ID: "run", Format: runstore.FormatVersion, Calls: []runstore.Call{{ID: 1, Method: "call"}}}
	row, err := s.Record(r, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, minCoded, 1 << 20} {
		answer := json.RawMessage(strings.Repeat("x", size))
		journal, stored, err := s.Calls(row.Seal, []runstore.Call{{ID: 1, State: runstore.CallSettled, Answer: answer}})
		if err != nil {
			t.Fatal(err)
		}
		if most := int64(minCoded); stored > most {
			t.Errorf("%d bytes take %d", size, stored)
		}
		got, err := s.DecodeRecord("run", row, journal, true)
		if err != nil || !bytes.Equal(got.Calls[0].Answer, answer) || got.Calls[0].Method != "call" {
			t.Errorf("%d bytes: %+v, %v", size, got, err)
		}
	}
}

// TestHostileCodings: a body that its key has sealed is read within bounds, or refused.
func TestHostileCodings(t *testing.T) {
	t.Parallel()
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f} // the length of 4 GiB, and nothing after it
	for name, c := range map[string]struct {
		coding string
		body   []byte
		want   error
	}{
		"another coding": {"zstd", []byte("x"), runstore.ErrFormat},
		"no such body":   {codingS2, []byte("x"), runstore.ErrCorrupt},
		"a huge body":    {codingS2, huge, runstore.ErrCorrupt},
		"a body":         {codingS2, s2.Encode(nil, []byte("1")), nil},
	} {
		j := Journal{Header: fmt.Appendf(nil, `{"id":1,"coding":%q}`, c.coding), Body: c.body}
		err := j.apply(&runstore.Record{Calls: []runstore.Call{{ID: 1}}})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
