package postgres

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// sealing returns a DB that is good for sealing alone.
func sealing(t testing.TB, secret byte) *DB {
	t.Helper()
	k, err := runstore.NewKey(bytes.Repeat([]byte{secret}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return newDB(Options{Key: k})
}

// FuzzRunRows feeds arbitrary rows to the readers of runs, results and effects: without
// the key nothing verifies, and with it nothing but a record is one.
func FuzzRunRows(f *testing.F) {
	d, other := sealing(f, 1), sealing(f, 2)
	r := &runstore.Record{ID: "run", Format: runstore.FormatVersion, Expires: time.Unix(1, 0), Calls: []runstore.Call{{ID: 1}}, Image: []byte("image")}
	row, err := d.recordRow(r, 1)
	if err != nil {
		f.Fatal(err)
	}
	journal, _, err := d.journalRows(row.sealed, []runstore.Call{{ID: 1, State: runstore.CallSettled, Answer: []byte(`1`)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(row.header, row.image, row.imageSum, row.sealed, journal[0].header, journal[0].body, journal[0].sealed)
	f.Add([]byte(`{`), []byte{}, []byte{}, []byte{}, []byte(`{"id":7}`), []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, header, image, sum, seal, callHeader, callBody, callSeal []byte) {
		given := runRow{header: header, image: image, imageSum: sum, sealed: seal}
		rows := []journalRow{{callHeader, callBody, callSeal}}
		if _, err := other.decodeRecord("run", &given, rows, true); !errors.Is(err, runstore.ErrCorrupt) {
			t.Errorf("a row of another key: %v", err)
		}
		ended := given
		ended.ended = true
		if _, err := d.decodeEnded("run", &ended); !errors.Is(err, runstore.ErrCorrupt) {
			t.Errorf("a result that is not one: %v", err)
		}
		if _, err := d.decodeEffects("run", header, seal, [][]byte{callHeader}, [][]byte{callSeal}); !errors.Is(err, runstore.ErrCorrupt) {
			t.Errorf("effects that are not effects: %v", err)
		}
		if got, err := d.decodeRecord("run", &given, rows, true); err == nil && !bytes.Equal(header, row.header) {
			t.Errorf("read %+v, which was not written", got)
		}
		// What is sealed, whatever it says, is a record or is refused.
		own, err := d.sealRow("run", false, header, image)
		if err != nil {
			t.Fatal(err)
		}
		one := journalRow{callHeader, callBody, d.seal(sealJournal, own.sealed, callHeader, callBody)}
		if got, err := d.decodeRecord("run", own, []journalRow{one}, true); err == nil && got.ID != "run" {
			t.Errorf("a record of %q", got.ID)
		} else if err != nil && !errors.Is(err, runstore.ErrCorrupt) && !errors.Is(err, runstore.ErrFormat) {
			t.Errorf("got %v", err)
		}
	})
}
