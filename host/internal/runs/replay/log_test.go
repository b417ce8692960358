package replay

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

func newTestLog(room int64) *Log {
	l := &Log{Room: new(atomic.Int64)}
	l.Room.Store(room)
	return l
}

// logTurn logs a turn of the guest.
func logTurn(l *Log, cell *wire.Cell, in []wire.Settlement, files ...loggedFile) {
	l.Start(cell, in)
	for _, f := range files {
		l.File(f.path, f.data, f.found)
	}
	l.End(&wire.Report{Trace: []byte{16}, Requests: []wire.Request{{ID: 1, Method: wire.MethodYield}}})
}

var testCell = &wire.Cell{Language: "javascript", Source: "return 1", Namespaces: []wire.NamespaceRef{{Global: "Issues", ID: "issues"}}, Limits: wire.Limits{MemoryBytes: 64 << 20}}

// TestALogComesBack: what was logged is what a record has, over several suspensions.
func TestALogComesBack(t *testing.T) {
	t.Parallel()
	l := newTestLog(MaxLogs)
	logTurn(l, testCell, nil, loggedFile{"a", true, []byte("one")}, loggedFile{"b", false, nil}, loggedFile{"a", true, []byte("one")})
	logTurn(l, nil, []wire.Settlement{{ID: 1, OK: true, JSON: []byte(`"x"`)}, {ID: 2, JSON: []byte(`{}`)}})
	var rec runstore.Record
	l.Put(&rec)
	l.Drop()
	if l.Room.Load() != MaxLogs {
		t.Errorf("a log that is stored takes %d bytes", MaxLogs-l.Room.Load())
	}
	l.Take(&rec)
	logTurn(l, nil, nil, loggedFile{"a", true, []byte("two")})
	l.Put(&rec)
	turns, err := Decode(rec.Replay)
	if err != nil || len(turns) != 3 || rec.NoReplay != "" {
		t.Fatalf("%+v, %v", turns, err)
	}
	if diff := cmp.Diff(testCell, turns[0].Cell); diff != "" {
		t.Error(diff)
	}
	if len(turns[0].files) != 2 || turns[0].files[1].found || string(turns[2].files[0].data) != "two" || len(turns[1].in) != 2 || turns[1].in[1].OK {
		t.Errorf("%+v", turns)
	}
	l.Drop()
	if l.Room.Load() != MaxLogs {
		t.Errorf("%d bytes were not given back", MaxLogs-l.Room.Load())
	}
}

// TestALogIsBounded: one that grows too large is given up with a reason, and so is one
// for which the process has no room.
func TestALogIsBounded(t *testing.T) {
	t.Parallel()
	large := []wire.Settlement{{ID: 1, OK: true, JSON: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)}}
	for _, c := range []struct {
		room int64
		want string
	}{{MaxLogs, lostTooLarge}, {2 << 20, lostNoRoom}} {
		l := newTestLog(c.room)
		logTurn(l, testCell, nil)
		for range 5 {
			logTurn(l, nil, large)
		}
		var rec runstore.Record
		l.Put(&rec)
		if rec.NoReplay != c.want || rec.Replay != nil || l.Room.Load() != c.room {
			t.Errorf("room %d: %q, %d bytes, %d left", c.room, rec.NoReplay, len(rec.Replay), l.Room.Load())
		}
	}
}

// TestAGuestWithoutTracesIsNotLogged: a worker of an earlier protocol sends none.
func TestAGuestWithoutTracesIsNotLogged(t *testing.T) {
	t.Parallel()
	l := newTestLog(MaxLogs)
	l.Start(testCell, nil)
	l.End(&wire.Report{})
	var rec runstore.Record
	if l.Put(&rec); rec.NoReplay != LostNoTrace {
		t.Errorf("%+v", rec)
	}
	l = newTestLog(MaxLogs)
	if l.Take(&runstore.Record{Image: []byte("image")}); l.lost != LostNoTrace {
		t.Errorf("a record of an earlier version: %q", l.lost)
	}
}

// FuzzDecodeLog: a log that is damaged is refused, and one that is accepted is what it says.
func FuzzDecodeLog(f *testing.F) {
	whole := encodeTurns([]Turn{
		{Cell: testCell, trace: []byte{16}, files: []loggedFile{{"a", true, []byte("one")}}},
		{trace: []byte{16, 1}, in: []wire.Settlement{{ID: 7, OK: true, JSON: []byte("1")}}},
	})
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		turns, err := Decode(zstdEncoder.EncodeAll(b, nil))
		if err != nil {
			if !errors.Is(err, errFormat) {
				t.Fatal(err)
			}
			return
		}
		again, err := Decode(zstdEncoder.EncodeAll(encodeTurns(turns), nil))
		if err != nil || !bytes.Equal(encodeTurns(again), encodeTurns(turns)) {
			t.Fatalf("%+v becomes %+v, %v", turns, again, err)
		}
	})
}

// FuzzLogBytes: bytes that are no compressed log are refused.
func FuzzLogBytes(f *testing.F) {
	f.Add(zstdEncoder.EncodeAll([]byte{turnVersion}, nil))
	f.Add([]byte("no frame"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if turns, err := Decode(b); err == nil && len(turns) == 0 {
			t.Fatal("a log without turns is accepted")
		}
	})
}
