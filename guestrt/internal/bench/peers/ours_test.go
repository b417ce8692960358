//go:build unix

package peers

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/guestrt/internal/engine/quickjs"
	"github.com/quoinhq/quoin/internal/wire"
)

// runCell, in the environment, makes the test binary run one cell in the engine it
// is built with and print a figure, as the other peers do.
const runCell = "QUOIN_BENCH_CELL"

// BenchmarkCell runs the cell that the environment names.
func BenchmarkCell(b *testing.B) {
	cell := os.Getenv(runCell)
	if cell == "" {
		b.Skip("runs in a process of its own, started by BenchmarkPeers")
	}
	times, err := strconv.Atoi(os.Getenv(runCell + "_TIMES"))
	if err != nil {
		b.Fatal(err)
	}
	data, err := json.Marshal(runOurs(b, cell, times))
	if err != nil {
		b.Fatal(err)
	}
	fmt.Printf("\n%s%s\n", figureMark, data)
}

// figureMark starts the line of a figure among what a test binary prints.
const figureMark = "figure: "

// ours runs the cells in the engine of this module.
type ours struct {
	b *testing.B
	e *quickjs.Engine
}

// runOurs runs a cell in an engine of its own.
func runOurs(b *testing.B, cell string, n int) figure {
	b.Helper()
	e, err := quickjs.Open(quickjs.Config{})
	if err != nil {
		b.Fatal(err)
	}
	f := (&ours{b, e}).run(cell, n)
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	return f
}

// run runs a cell, a short one by its name or a program by its file.
func (o *ours) run(cell string, n int) figure {
	switch cell {
	case "create":
		return o.measure(n, wall, func() (start time.Duration, f figure) {
			start = wall()
			vm := o.create()
			f.Check = o.value(o.load(vm, "return 1+1"))
			o.discard(vm)
			return start, f
		})
	case "snapshot":
		vm := o.suspend()
		defer o.discard(vm)
		return o.measure(n, wall, func() (start time.Duration, f figure) {
			start = wall()
			f.Bytes = len(must(vm.Snapshot(wire.MaxImage))(o.b))
			return start, f
		})
	case "restore":
		vm := o.suspend()
		image := must(vm.Snapshot(wire.MaxImage))(o.b)
		o.discard(vm)
		return o.measure(n, wall, func() (start time.Duration, f figure) {
			start = wall()
			vm := must(o.e.Restore(image, engine.Options{}))(o.b)
			r := must(vm.Turn([]wire.Settlement{{ID: 1, OK: true, JSON: []byte(`{"v":1}`)}}, time.Time{}))(o.b)
			f.Check = o.value(r)
			o.discard(vm)
			return start, f
		})
	}
	source := string(must(os.ReadFile(cell))(o.b))
	var vm engine.VM
	f := o.measure(n, processor, func() (start time.Duration, f figure) {
		if vm != nil {
			o.discard(vm)
		}
		vm = o.create()
		start = processor()
		f.Check = o.value(o.load(vm, source))
		return start, f
	})
	o.discard(vm)
	return f
}

func (o *ours) suspend() engine.VM {
	vm := o.create()
	o.load(vm, "const r = await tools.call('a', {q: 1}); return r.v + 1")
	return vm
}

// measure runs a cell n times, after a tenth as many that do not count. run
// returns when by the clock it started; the time ends when it returns.
func (o *ours) measure(n int, clock func() time.Duration, run func() (time.Duration, figure)) figure {
	var f figure
	var micros []float64
	for i := -n/10 - 1; i < n; i++ {
		start, got := run()
		took := clock() - start
		f = got
		if i >= 0 {
			micros = append(micros, float64(took.Nanoseconds())/1000)
		}
	}
	f.Micros = micros
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

func (o *ours) create() engine.VM {
	return must(o.e.New(engine.Options{Limits: wire.Limits{MemoryBytes: 512 << 20}}))(o.b)
}

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
