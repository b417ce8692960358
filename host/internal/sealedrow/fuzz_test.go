package sealedrow

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

func sealing(t testing.TB, secret byte) Sealer {
	t.Helper()
	k, err := runstore.NewKey(bytes.Repeat([]byte{secret}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return Sealer{k}
}

// FuzzRunRows feeds arbitrary rows to the readers of runs, results and effects: without
// the key nothing verifies, and with it nothing but a record is one.
func FuzzRunRows(f *testing.F) {
	d, other := sealing(f, 1), sealing(f, 2)
	r := &runstore.Record{ID: "run", Format: runstore.FormatVersion, Expires: time.Unix(1, 0), Calls: []runstore.Call{{ID: 1}}, Image: []byte("image")}
	row, err := d.Record(r, 1)
	if err != nil {
		f.Fatal(err)
	}
	journal, _, err := d.Calls(row.Seal, []runstore.Call{{ID: 1, State: runstore.CallSettled, Answer: []byte(`1`)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(row.Header, row.Image, row.ImageSum, row.Seal, journal[0].Header, journal[0].Body, journal[0].Seal)
	f.Add([]byte(`{`), []byte{}, []byte{}, []byte{}, []byte(`{"id":7}`), []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, header, image, sum, seal, callHeader, callBody, callSeal []byte) {
		given := Run{Header: header, Image: image, ImageSum: sum, Seal: seal}
		rows := []Journal{{callHeader, callBody, callSeal}}
		if _, err := other.DecodeRecord("run", &given, rows, true); !errors.Is(err, runstore.ErrCorrupt) {
			t.Errorf("a row of another key: %v", err)
		}
		ended := given
		ended.Ended = true
		if _, err := d.DecodeEnded("run", &ended); !errors.Is(err, runstore.ErrCorrupt) {
			t.Errorf("a result that is not one: %v", err)
		}
		if _, err := d.DecodeEffects("run", Effect{header, seal}, []Effect{{callHeader, callSeal}}); !errors.Is(err, runstore.ErrCorrupt) {
			t.Errorf("effects that are not effects: %v", err)
		}
		if got, err := d.DecodeRecord("run", &given, rows, true); err == nil && !bytes.Equal(header, row.Header) {
			t.Errorf("read %+v, which was not written", got)
		}
		// What is sealed, whatever it says, is a record or is refused.
		own, err := d.run("run", false, header, image)
		if err != nil {
			t.Fatal(err)
		}
		one := Journal{callHeader, callBody, d.sum(sealJournal, own.Seal, callHeader, callBody)}
		if got, err := d.DecodeRecord("run", own, []Journal{one}, true); err == nil && got.ID != "run" {
			t.Errorf("a record of %q", got.ID)
		} else if err != nil && !errors.Is(err, runstore.ErrCorrupt) && !errors.Is(err, runstore.ErrFormat) {
			t.Errorf("got %v", err)
		}
	})
}
