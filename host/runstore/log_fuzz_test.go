package runstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzSealed feeds the reader of run files with frames that have the right seals, as a host of
// another version, or one that was deceived, could have written them.
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
	f.Add(record, []byte("image"), []byte(`{"id":1,"state":"settled"}`), []byte("1"), byte(kindRecord), byte(kindJournal))
	f.Add(record, []byte{}, []byte("{"), []byte{}, byte(kindRecord), byte(kindJournal))
	f.Add(record, []byte("old"), record, []byte("new"), byte(kindRecord), byte(kindRecord))
	f.Add([]byte(`{"id":"run","format":2}`), []byte{}, []byte("[]"), []byte{}, byte(kindJournal), byte(kindRecord))
	f.Add([]byte("null"), []byte{}, []byte("null"), []byte{}, byte(kindRecord), byte(kindJournal))
	f.Fuzz(func(t *testing.T, header, body, later, answer []byte, kind, laterKind byte) {
		b := framed(t, d.key, frame{fileKind(kind), header, body}, frame{fileKind(laterKind), later, answer})
		write(t, d, b)
		got, err := d.Get(context.Background(), "run")
		switch {
		case err == nil && (got.ID != "run" || got.Format != FormatVersion || !time.Now().Before(got.Expires)):
			t.Fatalf("accepted %+v", got)
		case err == nil && string(got.Image) != string(body) && string(got.Image) != string(answer):
			t.Fatalf("an image of nobody: %q", got.Image)
		case err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrExpired):
			t.Fatalf("an error of no kind: %v", err)
		}
		if _, err := d.Sweep(context.Background(), time.Now()); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzLog changes a run file with every part known: what is read is a state that the run has
// had, in the order in which it had them, or nothing. That also holds for what a writer
// appends to it afterwards.
func FuzzLog(f *testing.F) {
	d, err := OpenDir(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	r := &Record{ID: "run", Format: FormatVersion, Generation: 1, Expires: time.Now().Add(24 * time.Hour), Calls: []Call{{ID: 1}, {ID: 2}}}
	ctx := context.Background()
	for _, err := range []error{
		Alone(d).Put(ctx, r, 0),
		Alone(d).PutCalls(ctx, "run", 1, []Call{{ID: 1, State: CallSettled, Answer: json.RawMessage("1")}}),
		Alone(d).PutCalls(ctx, "run", 1, []Call{{ID: 2, State: CallSettled, Answer: json.RawMessage("2")}}),
		Alone(d).Checkpoint(ctx, &Record{ID: "run", Format: FormatVersion, Generation: 2, Expires: r.Expires, Calls: []Call{{ID: 3}}}),
		Alone(d).PutCalls(ctx, "run", 2, []Call{{ID: 3, State: CallSettled, Answer: json.RawMessage("3")}}),
	} {
		if err != nil {
			f.Fatal(err)
		}
	}
	whole, err := os.ReadFile(filepath.Join(d.path, "run"+recordExt))
	if err != nil {
		f.Fatal(err)
	}
	states := [][]Call{
		{{ID: 1}, {ID: 2}},
		{{ID: 1, State: CallSettled, Answer: json.RawMessage("1")}, {ID: 2}},
		{{ID: 1, State: CallSettled, Answer: json.RawMessage("1")}, {ID: 2, State: CallSettled, Answer: json.RawMessage("2")}},
		{{ID: 3}},
		{{ID: 3, State: CallSettled, Answer: json.RawMessage("3")}},
	}
	f.Add(uint16(0), uint16(len(whole)), []byte{})
	f.Add(uint16(400), uint16(len(whole)-400), []byte{0xff, 0xff})
	f.Add(uint16(len(whole)-10), uint16(10), []byte{})
	f.Add(uint16(len(whole)-32), uint16(32), make([]byte, 32))
	f.Add(uint16(len(whole)), uint16(0), []byte("more"))
	f.Fuzz(func(t *testing.T, at, cut uint16, put []byte) {
		i := min(int(at), len(whole))
		j := min(i+int(cut), len(whole))
		b := bytes.Join([][]byte{whole[:i], put, whole[j:]}, nil)
		d.files.close("run")
		write(t, d, b)
		n := stateOf(t, d, states)
		if n < 0 {
			return
		}
		if bytes.Equal(b, whole) && n != len(states)-1 {
			t.Fatalf("the file as it was written has the state %d", n)
		}
		id, generation := states[n][0].ID, uint64(1+n/3)
		if err := Alone(d).PutCalls(ctx, "run", generation, []Call{{ID: id, State: CallAsked}}); err != nil {
			t.Fatalf("state %d cannot be appended to: %v", n, err)
		}
		got, err := d.Get(ctx, "run")
		if err != nil || got.Calls[0].State != CallAsked {
			t.Fatalf("state %d was appended to and is %+v, %v", n, got, err)
		}
	})
}

// stateOf returns which of the states the run has, or -1 if it is refused.
func stateOf(t *testing.T, d *Dir, states [][]Call) int {
	t.Helper()
	got, err := d.Get(context.Background(), "run")
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFormat) {
		return -1
	}
	if err != nil {
		t.Fatalf("an error of no kind: %v", err)
	}
	calls, err := json.Marshal(got.Calls)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range states {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(calls, want) {
			return i
		}
	}
	t.Fatalf("a state that the run has never had: %s", calls)
	return -1
}

// FuzzUnseal cuts sealed payloads with wrong lengths.
func FuzzUnseal(f *testing.F) {
	key := make([]byte, 32)
	whole := seal(key, kindOther, []byte("header"), []byte("body"))
	f.Add(whole[:len(whole)-sealBytes])
	f.Add([]byte(magic + "O\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		header, body, err := unseal(key, kindOther, append(payload[:len(payload):len(payload)], sum(key, payload)...))
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("an error of no kind: %v", err)
		}
		if err == nil && string(seal(key, kindOther, header, body)[:len(payload)]) != string(payload) {
			t.Fatalf("%q has two readings", payload)
		}
	})
}

// framed is a run file.
func framed(t *testing.T, key []byte, frames ...frame) []byte {
	t.Helper()
	c, b := newChain(key), []byte(logMagic)
	for _, f := range frames {
		var err error
		if b, err = c.add(b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func write(t *testing.T, d *Dir, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.path, "run"+recordExt), b, 0o600); err != nil {
		t.Fatal(err)
	}
}
