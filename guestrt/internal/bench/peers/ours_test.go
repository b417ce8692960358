//go:build unix

package peers

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/guestrt/internal/engine/quickjs"
	"github.com/quoinhq/quoin/internal/wire"
)

// figure is what one engine makes of one cell.
type figure struct {
	Cell   string  `json:"cell"`
	Micros float64 `json:"micros"` // the median
	Check  string  `json:"check"`  // the program's result
	Bytes  int     `json:"bytes"`  // of an image, as stored
}

// ours runs the cells in the engine of this module.
type ours struct {
	b *testing.B
	e *quickjs.Engine
}

func newOurs(b *testing.B) *ours {
	b.Helper()
	e, err := quickjs.Open(quickjs.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	return &ours{b, e}
}

// run runs every cell and returns the figures by cell.
func (o *ours) run(programs map[string]string) map[string]figure {
	out := map[string]figure{}
	add := func(f figure) { out[f.Cell] = f }
	add(o.measure("create, first result, discard", shortTimes, wall, func() (start time.Duration, f figure) {
		start = wall()
		vm := o.create()
		f.Check = o.value(o.load(vm, "return 1+1"))
		o.discard(vm)
		return start, f
	}))
	const suspended = "const r = await tools.call('a', {q: 1}); return r.v + 1"
	vm := o.create()
	o.load(vm, suspended)
	var image []byte
	add(o.measure("snapshot to bytes", shortTimes, wall, func() (start time.Duration, f figure) {
		start = wall()
		image = must(vm.Snapshot(wire.MaxImage))(o.b)
		f.Bytes = len(image)
		return start, f
	}))
	o.discard(vm)
	add(o.measure("restore from bytes, finish, discard", shortTimes, wall, func() (start time.Duration, f figure) {
		start = wall()
		vm := must(o.e.Restore(image, engine.Options{}))(o.b)
		r := must(vm.Turn([]wire.Settlement{{ID: 1, OK: true, JSON: []byte(`{"v":1}`)}}, time.Time{}))(o.b)
		f.Check = o.value(r)
		o.discard(vm)
		return start, f
	}))
	for name, source := range programs {
		var vm engine.VM
		add(o.measure(name, times, processor, func() (start time.Duration, f figure) {
			if vm != nil {
				o.discard(vm)
			}
			vm = o.create()
			start = processor()
			f.Check = o.value(o.load(vm, source))
			return start, f
		}))
		o.discard(vm)
	}
	return out
}

// measure runs a cell n times, after a tenth as many that do not count. run
// returns when by the clock it started; the time ends when it returns.
func (o *ours) measure(cell string, n int, clock func() time.Duration, run func() (time.Duration, figure)) figure {
	var f figure
	d := make([]time.Duration, 0, n)
	for i := -n/10 - 1; i < n; i++ {
		start, got := run()
		took := clock() - start
		f = got
		if i >= 0 {
			d = append(d, took)
		}
	}
	slices.Sort(d)
	f.Cell, f.Micros = cell, float64(d[n/2].Nanoseconds())/1000
	return f
}

var began = time.Now()

func wall() time.Duration { return time.Since(began) }

// processor is the processor time of this process, which a busy machine
// disturbs less.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (o *ours) create() engine.VM { return must(o.e.New(engine.Options{}))(o.b) }

func (o *ours) load(vm engine.VM, body string) wire.Report {
	return must(vm.Load(engine.Cell{
		Source:   []byte("async()=>{" + body + "\n}"),
		FileName: "cell.js",
		Config:   []byte(`{"file":"cell.js","namespaces":[],"limits":{}}`),
	}, time.Time{}))(o.b)
}

func (o *ours) value(r wire.Report) string {
	if r.Status != wire.StatusDone {
		o.b.Fatalf("the program did not return: %+v", r.Err)
	}
	return string(r.Value)
}

func (o *ours) discard(vm engine.VM) {
	if err := vm.Discard(); err != nil {
		o.b.Fatal(err)
	}
}

func must[T any](v T, err error) func(*testing.B) T {
	return func(b *testing.B) T {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
}
