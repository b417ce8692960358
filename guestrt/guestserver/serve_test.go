package guestserver

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// talk is the host's end of a conversation with a server in this process.
type talk struct {
	t      *testing.T
	engine *fakeEngine
	raw    net.Conn
	conn   *wire.Conn
	done   chan error
	limits []uint64
	layers []wire.Layer
}

// seal sets what the server will report, before it is asked.
func (k *talk) seal(layers []wire.Layer) { k.layers = layers }

func newTalk(t *testing.T) *talk {
	ours, theirs := net.Pipe()
	k := &talk{t: t, engine: &fakeEngine{}, raw: ours, conn: wire.NewConn(wire.Worker, ours), done: make(chan error, 1),
		layers: []wire.Layer{{Name: "test", State: wire.LayerOff}}}
	go func() {
		defer theirs.Close()
		k.done <- Serve(theirs, Config{
			Open: func(id [32]byte) (engine.Engine, error) {
				if id[0] == 0xff {
					return nil, errors.New("no such build")
				}
				return k.engine, nil
			},
			Seal:        func() []wire.Layer { return k.layers },
			LimitMemory: func(n uint64) error { k.limits = append(k.limits, n); return nil },
		})
	}()
	t.Cleanup(func() { ours.Close() })
	return k
}

func (k *talk) say(m wire.Message) wire.Message {
	k.t.Helper()
	if err := k.conn.Send(m); err != nil {
		k.t.Fatalf("send %v: %v", m.Type(), err)
	}
	answer, err := k.conn.Receive()
	if err != nil {
		k.t.Fatalf("answer to %v: %v", m.Type(), err)
	}
	return answer
}

func (k *talk) ready() *talk {
	k.t.Helper()
	want := &wire.Ready{Version: wire.Version, EngineID: "fake", Layers: []wire.Layer{{Name: "test", State: wire.LayerOff}}}
	if diff := cmp.Diff(wire.Message(want), k.say(&wire.Hello{Version: wire.Version})); diff != "" {
		k.t.Fatal(diff)
	}
	return k
}

func (k *talk) start(source string) wire.Message {
	k.t.Helper()
	return k.say(&wire.Start{Cell: wire.Cell{Language: "javascript", Source: source}})
}

// end closes the host's side and returns how Serve ended.
func (k *talk) end() error {
	k.raw.Close()
	return <-k.done
}

func wantFault(t *testing.T, m wire.Message, code, reason string) {
	t.Helper()
	f, ok := m.(*wire.Fault)
	if !ok || f.Code != code || f.Reason != reason || f.Message == "" {
		t.Errorf("got %v %+v, want a fault %s/%s", m.Type(), m, code, reason)
	}
}

func TestServeRunsACellInTurns(t *testing.T) {
	k := newTalk(t).ready()
	r, ok := k.start("wait").(*wire.Report)
	if !ok || r.Status != wire.StatusIdle || len(r.Requests) != 1 {
		t.Fatalf("start: %+v", r)
	}
	r, ok = k.say(&wire.Turn{Settlements: []wire.Settlement{{ID: 1, OK: true, JSON: []byte(`{"a":1}`)}}}).(*wire.Report)
	if !ok || r.Status != wire.StatusDone || string(r.Value) != `{"a":1}` {
		t.Fatalf("turn: %+v", r)
	}
	if err := k.end(); err != nil {
		t.Errorf("the end of the conversation is an error: %v", err)
	}
	if k.engine.live != 0 {
		t.Error("the guest outlives the conversation")
	}
}

func TestServeFillsAndAppliesLimits(t *testing.T) {
	k := newTalk(t).ready()
	k.start("VALUE")
	if got := k.engine.options.Limits; got != (wire.Limits{}).Filled() {
		t.Errorf("limits %+v", got)
	}
	if len(k.limits) != 1 || k.limits[0] != wire.DefaultMemoryBytes {
		t.Errorf("process limited to %v", k.limits)
	}
	if k.engine.options.Seed == [32]byte{} {
		t.Error("the guest has no seed")
	}
}

func TestResetForgetsTheGuest(t *testing.T) {
	k := newTalk(t).ready()
	for range 3 {
		if r, ok := k.start("VALUE").(*wire.Report); !ok || string(r.Value) != "42" {
			t.Fatalf("start: %+v", r)
		}
		if _, ok := k.say(&wire.Reset{}).(*wire.Ready); !ok {
			t.Fatal("reset is not answered by Ready")
		}
		if k.engine.live != 0 {
			t.Fatal("the guest survives a reset")
		}
	}
}

func TestSnapshotAndRestore(t *testing.T) {
	k := newTalk(t).ready()
	k.start("wait")
	image, ok := k.say(&wire.Snapshot{}).(*wire.Image)
	if !ok {
		t.Fatal("no image")
	}
	wantFault(t, k.say(&wire.Snapshot{MaxBytes: 5}), wire.CodeSnapshotLimit, "")
	k.say(&wire.Reset{})
	if _, ok := k.say(&wire.Restore{Image: image.Data}).(*wire.Restored); !ok {
		t.Fatal("not restored")
	}
	if r, ok := k.say(&wire.Turn{Settlements: []wire.Settlement{{ID: 1, OK: true, JSON: []byte("7")}}}).(*wire.Report); !ok || string(r.Value) != "7" {
		t.Fatalf("turn after restore: %+v", r)
	}
}

func TestRestoreRefusesEveryDamagedImage(t *testing.T) {
	k := newTalk(t).ready()
	k.start("wait")
	image := k.say(&wire.Snapshot{}).(*wire.Image).Data
	k.say(&wire.Reset{})
	for i := range image {
		bad := append([]byte(nil), image...)
		bad[i] ^= 0x80
		wantFault(t, k.say(&wire.Restore{Image: bad}), wire.CodeInvalidInput, wire.ReasonSnapshotRestore)
	}
	for n := range image {
		wantFault(t, k.say(&wire.Restore{Image: image[:n]}), wire.CodeInvalidInput, wire.ReasonSnapshotRestore)
	}
}

func TestFilesAreAskedInTheMiddleOfATurn(t *testing.T) {
	k := newTalk(t).ready()
	need, ok := k.start("FILE").(*wire.NeedFile)
	if !ok || need.Path != "a/b.json" {
		t.Fatalf("got %+v", need)
	}
	r, ok := k.say(&wire.FileData{Found: true, Data: []byte("hello")}).(*wire.Report)
	if !ok || string(r.Value) != `{"data":"hello","found":true}` {
		t.Fatalf("got %+v", r)
	}
}

func TestEngineTroubleIsAFault(t *testing.T) {
	k := newTalk(t).ready()
	wantFault(t, k.start("DEAD"), wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed)
	wantFault(t, k.say(&wire.Turn{}), wire.CodeInternal, "")
	k = newTalk(t).ready()
	wantFault(t, k.start("OOM"), wire.CodeMemoryLimit, "")
}

func TestAReportTooLargeToSendFailsTheRun(t *testing.T) {
	k := newTalk(t).ready()
	r, ok := k.start("FLOOD").(*wire.Report)
	if !ok || r.Status != wire.StatusFailed || r.Err.Code != wire.CodeOutputLimit {
		t.Fatalf("got %+v", r)
	}
	if len(r.Requests) != 0 {
		t.Error("a request of the lost report leaves the guest")
	}
	if len(r.Output) != keptOutput/(1<<20+2) {
		t.Errorf("%d output items kept", len(r.Output))
	}
}

func TestHostMistakesEndTheWorker(t *testing.T) {
	for name, say := range map[string]func(*talk){
		"turn before hello":      func(k *talk) { _ = k.conn.Send(&wire.Turn{}) },
		"snapshot without guest": func(k *talk) { k.ready(); _ = k.conn.Send(&wire.Snapshot{}) },
		"second hello":           func(k *talk) { k.ready(); _ = k.conn.Send(&wire.Hello{}) },
		"file data unasked":      func(k *talk) { k.ready(); _ = k.conn.Send(&wire.FileData{}) },
		"restore beside a guest": func(k *talk) { k.ready(); k.start("wait"); _ = k.conn.Send(&wire.Restore{}) },
		"garbage":                func(k *talk) { k.ready(); _, _ = k.raw.Write([]byte(strings.Repeat("\xff", 64))) },
	} {
		t.Run(name, func(t *testing.T) {
			k := newTalk(t)
			say(k)
			var protocol *protocolError
			if err := k.end(); !errors.As(err, &protocol) || exitCode(err) != wire.ExitProtocol {
				t.Errorf("Serve ended with %v", err)
			}
		})
	}
}

func TestHelloIsRefusedWithAReason(t *testing.T) {
	for _, hello := range []*wire.Hello{{Version: wire.Version + 1}, {Version: wire.Version, BuildID: [32]byte{0xff}}} {
		k := newTalk(t)
		wantFault(t, k.say(hello), wire.CodeRuntimeUnavailable, "")
		if err := <-k.done; err != nil {
			t.Errorf("the worker ends with %v", err)
		}
	}
}

func TestASecondStartNeedsAReset(t *testing.T) {
	k := newTalk(t).ready()
	k.start("wait")
	wantFault(t, k.start("VALUE"), wire.CodeInternal, "")
}

// TestRequiredIsolationEndsTheWorker leaves out one layer after another: a worker
// of a host that insists on it ends without reading another byte.
func TestRequiredIsolationEndsTheWorker(t *testing.T) {
	var all []wire.Layer
	for _, l := range sandbox.Unsealed("") {
		all = append(all, wire.Layer{Name: l.Name, State: wire.LayerOn})
	}
	for i, l := range all {
		layers := slices.Clone(all)
		layers[i] = wire.Layer{Name: l.Name, State: wire.LayerFailed, Detail: "refused by a test"}
		optional := l.Name == sandbox.LayerNamespaces || l.Name == sandbox.LayerLandlock || l.Name == sandbox.LayerRoot
		if l.Name == sandbox.LayerNamespaces {
			layers[slices.IndexFunc(layers, func(l wire.Layer) bool { return l.Name == sandbox.LayerLandlock })].Detail = "version 4"
		}
		t.Run(l.Name, func(t *testing.T) {
			k := newTalk(t)
			k.seal(layers)
			answer := k.say(&wire.Hello{Version: wire.Version, Required: true})
			if _, ready := answer.(*wire.Ready); optional && !ready {
				t.Fatalf("got %+v", answer)
			}
			if optional {
				return
			}
			wantFault(t, answer, wire.CodeRuntimeUnavailable, "")
			for _, part := range []string{l.Name, "refused by a test", sandbox.Remedy(l.Name)} {
				if !strings.Contains(answer.(*wire.Fault).Message, part) {
					t.Errorf("%q is not in %q", part, answer.(*wire.Fault).Message)
				}
			}
			var seal *sealError
			if err := <-k.done; !errors.As(err, &seal) || exitCode(err) != wire.ExitSeal {
				t.Errorf("the worker ends with %v", err)
			}
		})
		t.Run(l.Name+" best effort", func(t *testing.T) {
			k := newTalk(t)
			k.seal(layers)
			if _, ready := k.say(&wire.Hello{Version: wire.Version}).(*wire.Ready); !ready {
				t.Error("the worker does not go on")
			}
		})
	}
}
