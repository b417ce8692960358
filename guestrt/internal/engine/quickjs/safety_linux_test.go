//go:build linux && (amd64 || arm64)

package quickjs

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// safetyProgram is one of testdata/safety: what QuickJS once did to memory with it, or
// does still, its first lines say.
type safetyProgram struct {
	name, source string
	want         string // the JSON of its value
	needs        string // a global that not every library has
	scarce       bool   // it lets allocations fail, which may end it in order
}

var safetyHeader = regexp.MustCompile(`(?m)^// (want|needs|parts): (.*)$`)

func safetyPrograms(t *testing.T) (all []safetyProgram) {
	t.Helper()
	entries, err := testdata.ReadDir("testdata/safety")
	if err != nil {
		t.Fatal(err)
	}
	prologue := readTestdata(t, "safety/prologue.txt")
	for _, entry := range entries {
		if path.Ext(entry.Name()) != ".js" {
			continue
		}
		src := readTestdata(t, "safety/"+entry.Name())
		header := map[string]string{"parts": "1"}
		for _, m := range safetyHeader.FindAllStringSubmatch(src, -1) {
			header[m[1]] = m[2]
		}
		parts, err := strconv.Atoi(header["parts"])
		if err != nil {
			t.Fatal(err)
		}
		for part := range parts {
			all = append(all, safetyProgram{
				name:   strings.TrimSuffix(entry.Name(), ".js") + "/" + strconv.Itoa(part),
				source: "const part = " + strconv.Itoa(part) + ";\n" + prologue + src,
				want:   header["want"], needs: header["needs"], scarce: strings.Contains(src, "room = from"),
			})
		}
	}
	return all
}

// scarcity serves room/N and room/off: the first allocation that would need more than
// N further bytes fails, as at the memory limit.
type scarcity struct{ room uint64 }

func (s *scarcity) file(name string) ([]byte, bool) {
	room, ok := strings.CutPrefix(name, "room/")
	if !ok {
		return nil, false
	}
	c := ctl()
	c.heap.crossings = 0
	c.setMemoryLimit(c.full)
	if n, err := strconv.ParseUint(room, 10, 64); err == nil {
		s.room = n
		c.heap.limit = min(c.heap.limit, c.heap.live+n)
	}
	return nil, false
}

// TestSafetyPrograms runs each program straight, with an image between any two
// turns, and with one between any two jobs. An image zeroes what is free, so that
// what is used after it was freed shows.
func TestSafetyPrograms(t *testing.T) {
	e := openTest(t)
	for _, p := range safetyPrograms(t) {
		t.Run(p.name, func(t *testing.T) {
			if p.needs != "" && string(run(t, e, engine.Options{}, "return typeof "+p.needs).Value) == `"undefined"` {
				t.Skip("the library has no " + p.needs)
			}
			p.check(t, e, "straight", func(vm engine.VM) engine.VM { return vm })
			p.check(t, e, "an image between any two turns", func(vm engine.VM) engine.VM { return rebirth(t, e, vm) })
			if p.scarce {
				return
			}
			s := stepper{t: t, e: e, v: newVM(t, e, engine.Options{Files: new(scarcity).file}).(*vm)}
			r := s.run(p.text(0))
			discard(t, s.v)
			if string(r.Value) != p.want {
				t.Errorf("an image between any two jobs: %s, %+v, want %s", r.Value, r.Err, p.want)
			}
		})
	}
}

// roomStep is by how much the room for allocations grows: by a block, or by more where
// time is short.
func roomStep() uint64 {
	if testing.Short() {
		return 11 * blockAlign
	}
	return blockAlign
}

// text is the program, with the room at which it starts.
func (p safetyProgram) text(from uint64) string {
	return fmt.Sprintf("const from = %d, roomStep = %d;\n%s", from, roomStep(), p.source)
}

// check runs the program, and calls between after each turn. A program that ends
// because an allocation failed continues behind it.
func (p safetyProgram) check(t *testing.T, e *Engine, how string, between func(engine.VM) engine.VM) {
	t.Helper()
	var s scarcity
	for from := uint64(0); ; from = s.room + roomStep() {
		r := p.runFrom(t, e, from, &s, between)
		if r.Status == wire.StatusDone && string(r.Value) == p.want {
			return
		}
		if !p.scarce || r.Status != wire.StatusFailed || s.room < from {
			t.Errorf("%s: from room %d: %s, %+v, want %s", how, from, r.Value, r.Err, p.want)
			return
		}
	}
}

func (p safetyProgram) runFrom(t *testing.T, e *Engine, from uint64, s *scarcity, between func(engine.VM) engine.VM) wire.Report {
	t.Helper()
	vm := newVM(t, e, engine.Options{Files: s.file})
	defer func() { discard(t, vm) }()
	r := load(t, vm, p.text(from))
	for r.Status == wire.StatusIdle {
		sound(t)
		vm = between(vm)
		r = turn(t, vm, answer(r.Requests)...)
	}
	sound(t)
	return r
}
