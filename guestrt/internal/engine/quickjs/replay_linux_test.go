//go:build linux && (amd64 || arm64)

package quickjs

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// recordedTurn is a turn of a guest: what it got, and its report.
type recordedTurn struct {
	in     []wire.Settlement
	report wire.Report
}

// record runs a program to its end. Between turns the guest goes through an image if
// reborn says so.
func record(t testing.TB, e *Engine, src string, reborn bool) (turns []recordedTurn) {
	t.Helper()
	vm := newVM(t, e, engine.Options{Seed: [32]byte{1}})
	r := load(t, vm, src)
	turns = append(turns, recordedTurn{nil, r})
	for r.Status == wire.StatusIdle {
		if reborn {
			img, err := vm.Snapshot(wire.MaxImage)
			if err != nil {
				t.Fatal(err)
			}
			discard(t, vm)
			if vm, err = e.Restore(img, engine.Options{Seed: [32]byte{byte(len(turns)), 7}}); err != nil {
				t.Fatal(err)
			}
		}
		if r.TimerMillis > 0 {
			time.Sleep(time.Duration(r.TimerMillis) * time.Millisecond) // a timer of the guest's is what it waits for
		}
		in := answer(r.Requests)
		r = turn(t, vm, in...)
		turns = append(turns, recordedTurn{in, r})
	}
	discard(t, vm)
	return turns
}

// replay runs the program again by the traces, in one VM with another seed, and returns the reports.
func replay(t testing.TB, e *Engine, src string, turns []recordedTurn) (reports []wire.Report) {
	t.Helper()
	vm := newVM(t, e, engine.Options{Seed: [32]byte{99}})
	defer discard(t, vm)
	for i, recorded := range turns {
		if len(recorded.report.Trace) == 0 {
			t.Fatalf("turn %d has no trace", i)
		}
		if err := vm.Replay(recorded.report.Trace); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			reports = append(reports, load(t, vm, src))
		} else {
			reports = append(reports, turn(t, vm, recorded.in...))
		}
		if reports[i].Status != wire.StatusIdle {
			break
		}
	}
	return reports
}

// observing is a program that shows all that it can observe of the time and of chance.
const observing = `
const seen = [];
const look = () => seen.push(Date.now(), +new Date(), Date(), new Date().toISOString(), performance.now(), performance.timeOrigin,
	Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint32Array(3))]);
look();
class Later extends Date {}
seen.push(+new Later(), new Date(5).getTime(), new Date(2020, 1, 2).getTime(), typeof Date(), Date.now.name, Date.length);
const spun = Date.now(); let reads = 0;
while (Date.now() < spun + 5) reads++;
seen.push(reads);
json(seen.slice());
await tools.call("a", {seen});
look();
await Promise.all([tools.call("b", {seen}), new Promise((r) => setTimeout(r, 15)).then(() => seen.push("timer", Date.now()))]);
const order = [];
await Promise.all([3, 1, 2].map((n) => new Promise((r) => setTimeout(() => { order.push(n, Date.now()); r(); }, n * 3))));
await yield_control();
look();
return {seen, order};
`

// TestAReplayComesOutTheSame: a program that looks at the clock and at random values in
// every way makes the same calls, output and value again, at another time and by another
// seed, whether its guest had moved between processes or not.
func TestAReplayComesOutTheSame(t *testing.T) {
	e := openWith(t, Config{BuildID: testBuild})
	for name, reborn := range map[string]bool{"in one process": false, "through images": true} {
		t.Run(name, func(t *testing.T) {
			turns := record(t, e, observing, reborn)
			if last := turns[len(turns)-1].report; last.Status != wire.StatusDone || len(turns) < 5 {
				t.Fatalf("%d turns, the last %+v", len(turns), last)
			}
			for i, got := range replay(t, e, observing, turns) {
				ignored := cmpopts.IgnoreFields(wire.Report{}, "CPUMicros", "HeapBytes", "HeapPeakBytes", "Trace")
				if diff := cmp.Diff(turns[i].report, got, ignored); diff != "" {
					t.Fatalf("turn %d (-first +again):\n%s", i, diff)
				}
			}
		})
	}
}

// TestAReplayThatDrawsOtherwiseFails: a program that draws more random values than the
// recorded one takes another path.
func TestAReplayThatDrawsOtherwiseFails(t *testing.T) {
	e := openWith(t, Config{BuildID: testBuild})
	for _, c := range []struct{ before, after string }{
		{`Math.random();`, `Math.random(); Math.random();`},
		{``, `Math.random();`},
		{`Math.random();`, ``},
		{``, `crypto.randomUUID();`},
		{`crypto.randomUUID();`, `crypto.getRandomValues(new Uint8Array(15));`},
	} {
		turns := record(t, e, c.before+`await yield_control(); return 1`, false)
		got := replay(t, e, c.after+`await yield_control(); return 1`, turns)
		if last := got[len(got)-1]; len(got) != 1 || last.Err == nil || last.Err.Reason != wire.ReasonReplayDiverged {
			t.Errorf("%q replayed as %q: %+v", c.before, c.after, got)
		}
	}
}

// TestAReplayGoesOn: behind the last recorded turn the guest lives on with the real time.
func TestAReplayGoesOn(t *testing.T) {
	e := openWith(t, Config{BuildID: testBuild})
	const src = `const t = Date.now(); await yield_control(); await yield_control(); return Date.now() - t`
	turns := record(t, e, src, false)
	vm := newVM(t, e, engine.Options{})
	defer discard(t, vm)
	trace := bytes.Clone(turns[0].report.Trace)
	if err := vm.Replay(trace); err != nil {
		t.Fatal(err)
	}
	vm2 := rebirth(t, e, func() engine.VM { load(t, vm, src); return vm }())
	defer discard(t, vm2)
	for _, recorded := range turns[1 : len(turns)-1] {
		turn(t, vm2, recorded.in...)
	}
	last := turn(t, vm2, turns[len(turns)-1].in...)
	if last.Status != wire.StatusDone || last.Value[0] == '-' {
		t.Errorf("%+v", last)
	}
}

// FuzzTrace: what is no trace is refused, and a trace never makes the clock panic.
func FuzzTrace(f *testing.F) {
	f.Add([]byte{traceFormat}, uint8(3))
	f.Add((&trace{seed: &[32]byte{1}, state: 4, drawn: 9, readings: []byte{1, 2, 3, 4}}).encode(), uint8(9))
	f.Fuzz(func(t *testing.T, b []byte, reads uint8) {
		tr, err := decodeTrace(b)
		if err != nil {
			return
		}
		if again, err := decodeTrace(tr.encode()); err != nil || !bytes.Equal(again.readings, tr.readings) || again.drawn != tr.drawn {
			t.Fatalf("%+v becomes %+v, %v", tr, again, err)
		}
		var c clock
		c.replay(tr.readings)
		for range reads {
			c.now()
		}
	})
}

// TestTheClockIsWrittenDown: readings come back in number and order.
func TestTheClockIsWrittenDown(t *testing.T) {
	var c clock
	c.write()
	var want []int64
	for len(want) < 1000 || want[0] == want[len(want)-1] {
		want = append(want, c.now())
	}
	c.flush()
	if len(c.readings) > 64 {
		t.Errorf("%d readings take %d bytes", len(want), len(c.readings))
	}
	var again clock
	again.replay(c.readings)
	for i, w := range want {
		if got := again.now(); got != w {
			t.Fatalf("reading %d is %d, was %d", i, got, w)
		}
	}
	if got, last := again.now(), want[len(want)-1]; got != last {
		t.Errorf("one more reading is %d, not the newest, %d", got, last)
	}
}
