package runstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/runstore"
)

// sealSize is the size of each of the two seals of a frame, headSize the size of what comes
// before the content: kind, two lengths and the first seal.
const (
	sealSize = 32
	headSize = 1 + 4 + 4 + sealSize
)

// stateAt is the newest state that the first n bytes of the file hold completely;
// -1 before the first.
func (l *leg) stateAt(n int) int {
	state := -1
	for i, size := range l.sizes {
		if int64(n) >= size {
			state = i
		}
	}
	return state
}

// is fails the test unless the file, changed to b, reads as one of its states.
func (l *leg) is(what string, b []byte, state int) {
	l.t.Helper()
	if err := os.WriteFile(l.name(), b, 0o600); err != nil {
		l.t.Fatal(err)
	}
	got, err := l.store.Get(context.Background(), "run_1")
	if state < 0 {
		if !errors.Is(err, runstore.ErrCorrupt) {
			l.t.Fatalf("%s: %v, want ErrCorrupt", what, err)
		}
		return
	}
	if err != nil {
		l.t.Fatalf("%s: %v", what, err)
	}
	if d := cmp.Diff(l.states[state], got); d != "" {
		l.t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

// takes fails the test unless the next writer can continue the run.
func (l *leg) takes(what string, state int) {
	l.t.Helper()
	ctx := context.Background()
	if _, err := l.put(l.read()); err != nil {
		l.t.Fatalf("%s: %v", what, err)
	}
	want := *l.states[state]
	want.Generation++
	if err := runstore.Alone(l.store).Checkpoint(ctx, &want); err != nil {
		l.t.Fatalf("%s: %v", what, err)
	}
	got, err := l.store.Get(ctx, "run_1")
	if err != nil {
		l.t.Fatalf("%s, appended to: %v", what, err)
	}
	if d := cmp.Diff(&want, got, anyEpoch); d != "" {
		l.t.Fatalf("%s, appended to (-want +got):\n%s", what, d)
	}
}

// TestTornTail cuts the file everywhere: what was not written completely has not
// been written, what was is there, and the next writer continues from it.
func TestTornTail(t *testing.T) {
	l := newLeg(t)
	whole := l.read()
	for cut := range whole {
		state := l.stateAt(cut)
		what := "cut at " + strconv.Itoa(cut)
		l.is(what, whole[:cut], state)
		if state >= 0 && cut%61 == 0 {
			l.takes(what, state)
		}
	}
}

// TestUnwrittenTail: the machine stopped when the file had grown and not all of its
// content was on disk, so that the file ends with zeros. That is no damage, wherever
// they start, except inside a seal: what a seal starts with says nothing, and must
// not, or a forger could find it out byte by byte.
func TestUnwrittenTail(t *testing.T) {
	l := newLeg(t)
	whole := l.read()
	for cut := range whole {
		if whole[cut] == 0 {
			continue // the same file as with zeros from the next byte on
		}
		want := l.stateAt(cut)
		frame := int(l.sizes[want+1])
		if l.insideSeal(whole, cut) {
			want = -1
		}
		for _, end := range []int{frame, len(whole)} {
			b := append(bytes.Clone(whole[:cut]), make([]byte, end-cut)...)
			l.is("zeros from "+strconv.Itoa(cut)+" to "+strconv.Itoa(end), b, want)
		}
	}
}

// insideSeal reports whether the file, cut there, ends with a part of a seal. A part
// of zeros alone, with which one seal in 256 starts, cannot be told from a seal that was
// not written.
func (l *leg) insideSeal(whole []byte, cut int) bool {
	within := func(end int64) bool {
		start := end - sealSize
		return start < int64(cut) && int64(cut) < end &&
			len(bytes.Trim(whole[start:cut], "\x00")) > 0
	}
	begin := int64(len("QUOINLEG"))
	for _, end := range l.sizes {
		if within(begin+headSize) || within(end) {
			return true
		}
		begin = end
	}
	return false
}

// TestZerosBehindEachFrame: a file grows by whole blocks before anything is written
// to them.
func TestZerosBehindEachFrame(t *testing.T) {
	l := newLeg(t)
	whole := l.read()
	for state, size := range l.sizes {
		for _, zeros := range []int{1, headSize - 1, headSize, headSize + sealSize, 4096} {
			what := strconv.Itoa(zeros) + " zeros behind state " + strconv.Itoa(state)
			l.is(what, append(bytes.Clone(whole[:size]), make([]byte, zeros)...), state)
			l.takes(what, state)
		}
	}
}

// TestASmallFrameAfterALargeTornOne: nothing of the torn frame stays behind it.
func TestASmallFrameAfterALargeTornOne(t *testing.T) {
	l := newLeg(t)
	before := l.read()
	l.settle(2, 2, `"`+strings.Repeat("x", 100_000)+`"`)
	large := l.read()
	for _, torn := range [][]byte{large[:len(large)-1], large[:len(before)+headSize], large[:len(before)+50_000]} {
		if _, err := l.put(torn); err != nil {
			t.Fatal(err)
		}
		small := []runstore.Call{{ID: 2, State: runstore.CallSettled, OK: true, Answer: json.RawMessage(`"small"`)}}
		if err := runstore.Alone(l.store).PutCalls(context.Background(), "run_1", 2, small); err != nil {
			t.Fatalf("after %d bytes of a torn frame: %v", len(torn)-len(before), err)
		}
		got, err := l.put(l.read())
		if err != nil {
			t.Fatalf("after %d bytes of a torn frame and a small one: %v", len(torn)-len(before), err)
		}
		if answer := string(got.Calls[1].Answer); answer != `"small"` {
			t.Errorf("after %d bytes of a torn frame the answer is %s", len(torn)-len(before), answer)
		}
	}
}

// TestATornBatch: of several answers in one write, those count that are complete.
func TestATornBatch(t *testing.T) {
	l := newLeg(t)
	before := l.read()
	batch := []runstore.Call{
		{ID: 1, State: runstore.CallSettled, OK: true, Answer: json.RawMessage(`"one"`)},
		{ID: 2, State: runstore.CallSettled, OK: true, Answer: json.RawMessage(`"two"`)},
	}
	if err := runstore.Alone(l.store).PutCalls(context.Background(), "run_1", 2, batch[:1]); err != nil {
		t.Fatal(err)
	}
	one := l.read()
	if _, err := l.put(before); err != nil {
		t.Fatal(err)
	}
	if err := runstore.Alone(l.store).PutCalls(context.Background(), "run_1", 2, batch); err != nil {
		t.Fatal(err)
	}
	both := l.read()
	old := string(l.states[len(l.states)-1].Calls[0].Answer)
	for _, tc := range []struct {
		written int
		first   string
	}{
		{len(before), old}, {len(before) + headSize, old}, {len(one) - sealSize, old},
		{len(one), `"one"`}, {len(one) + headSize, `"one"`}, {len(both) - sealSize, `"one"`},
	} {
		got, err := l.put(append(bytes.Clone(both[:tc.written]), make([]byte, len(both)-tc.written)...))
		if err != nil {
			t.Fatalf("%d of %d bytes were written: %v", tc.written, len(both), err)
		}
		if answer := string(got.Calls[0].Answer); answer != tc.first || got.Calls[1].OK {
			t.Errorf("%d of %d bytes were written: the first answer is %s, the second %s", tc.written, len(both), answer, got.Calls[1].Answer)
		}
	}
}
