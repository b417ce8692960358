package runstore

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzSealed feeds the reader of run files with payloads whose seal is right, as
// a host of another version, or one that was deceived, could have written them.
func FuzzSealed(f *testing.F) {
	d, err := OpenDir(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	r := Record{ID: "run", Format: FormatVersion, Generation: 2, Expires: time.Now().Add(24 * time.Hour), Calls: []Call{{ID: 1, Method: "call", State: CallInFlight}}}
	record, err := json.Marshal(r)
	if err != nil {
		f.Fatal(err)
	}
	calls, err := json.Marshal(journal{ID: "run", Generation: 2, Calls: []Call{{ID: 1, State: CallSettled, Answer: json.RawMessage("1")}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(record, []byte("image"), calls, byte(kindRecord), byte(kindJournal))
	f.Add(record, []byte{}, []byte("{"), byte(kindRecord), byte(kindJournal))
	f.Add([]byte(`{"id":"run","format":2}`), []byte{}, []byte("[]"), byte(kindJournal), byte(kindRecord))
	f.Add([]byte("null"), []byte{}, []byte("null"), byte(kindRecord), byte(kindJournal))
	f.Fuzz(func(t *testing.T, header, body, calls []byte, kind, journalKind byte) {
		write(t, d, recordExt, seal(d.key, fileKind(kind), header, body))
		write(t, d, journalExt, seal(d.key, fileKind(journalKind), calls, nil))
		got, err := d.Get(context.Background(), "run")
		switch {
		case err == nil && (got.ID != "run" || got.Format != FormatVersion || !time.Now().Before(got.Expires) || string(got.Image) != string(body)):
			t.Fatalf("accepted %+v", got)
		case err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrExpired):
			t.Fatalf("an error of no kind: %v", err)
		}
		if _, err := d.Sweep(context.Background(), time.Now()); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzUnseal cuts sealed payloads whose lengths lie.
func FuzzUnseal(f *testing.F) {
	key := make([]byte, 32)
	whole := seal(key, kindRecord, []byte("header"), []byte("body"))
	f.Add(whole[:len(whole)-sealBytes])
	f.Add([]byte(magic + "R\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		header, body, err := unseal(key, kindRecord, append(payload[:len(payload):len(payload)], sum(key, payload)...))
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("an error of no kind: %v", err)
		}
		if err == nil && string(seal(key, kindRecord, header, body)[:len(payload)]) != string(payload) {
			t.Fatalf("%q has two readings", payload)
		}
	})
}

func write(t *testing.T, d *Dir, ext string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.path, "run"+ext), b, 0o600); err != nil {
		t.Fatal(err)
	}
}
