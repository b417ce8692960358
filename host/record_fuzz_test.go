package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

// forger is a store that returns one record, whatever was stored.
type forger struct {
	runstore.Memory
	record *runstore.Record
}

func (f *forger) Get(_ context.Context, id string) (*runstore.Record, error) {
	if id != f.record.ID {
		return nil, runstore.ErrNotFound
	}
	r := *f.record
	return &r, nil
}

// FuzzStoredRecord resumes runs with forged records: the journal, the scopes and the image. In
// every case there is a result, and the host continues.
func FuzzStoredRecord(f *testing.F) {
	guest := &forger{}
	id := wantWaitingRecord(f, guest)
	genuine, err := guest.Memory.Get(context.Background(), id)
	if err != nil {
		f.Fatal(err)
	}
	calls, err := json.Marshal(genuine.Calls)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(calls, []byte(`{}`), []byte{}, uint32(0))
	f.Add(calls, []byte(`{"issues":{"kind":"call"}}`), []byte("x"), uint32(90))
	f.Add([]byte(`[{"id":1,"method":"call","target":"echo","args":1,"state":"settled","ok":true,"answer":{"a":[1]}}]`), []byte(`null`), []byte{}, uint32(0))
	f.Add([]byte(`[{"id":1,"method":"yield","state":"settled","answer":7},{"id":1,"method":"steal","state":"flying"},{"id":18446744073709551615,"method":"namespace","path":["a"],"state":"queued"}]`), []byte(`{}`), []byte{}, uint32(0))

	// Another host, which knows no more of the run than the record says.
	store := &forger{record: genuine}
	h := start(f, host.Config{Store: store, Tools: []catalog.Tool{echo("echo")}})
	f.Fuzz(func(t *testing.T, calls, scopes, patch []byte, at uint32) {
		r := *genuine
		r.Calls, r.Scopes = nil, nil
		if json.Unmarshal(calls, &r.Calls) != nil || json.Unmarshal(scopes, &r.Scopes) != nil {
			return
		}
		r.Image = bytes.Clone(r.Image)
		copy(r.Image[int(at)%len(r.Image):], patch)
		store.record = &r
		res := h.WaitFor(context.Background(), me, id, soon)
		switch {
		case res.Status == host.StatusWaiting:
			h.Abort(context.Background(), me, id)
		case res.Status == host.StatusFailed && (res.Code == "" || res.Phase == "" || len(res.Error) > 8<<10):
			t.Errorf("got %.500s", show(res))
		case res.Reason == codemode.ReasonSandboxViolation,
			res.Reason == codemode.ReasonWorkerCrashed && !strings.Contains(res.Error, "no such pending call"):
			t.Errorf("the worker died of it: %.500s", show(res))
		}
		if good := exec(h, `return (await tools.echo({ a: 1 })).a`); string(good.Value) != `1` {
			t.Errorf("afterwards: %.500s", show(good))
		}
	})
}

// wantWaitingRecord suspends a run in the store and returns its id.
func wantWaitingRecord(f *testing.F, store runstore.Store) string {
	f.Helper()
	first := start(f, host.Config{Store: store, Tools: []catalog.Tool{echo("echo")}})
	r := exec(first, `const kept = tools.echo({ a: 1 }); await yield_control(); return [await kept, (await tools.echo({ b: 2 })).b]`)
	if r.Status != host.StatusWaiting {
		f.Fatalf("got %s, want waiting", show(r))
	}
	return r.RunID
}
