package runstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/internal/wire"
)

// Program is what a guest runs. In each turn it runs from its start, with the answers that it
// has got so far, until it waits for another one. So it must do the same each time, and has
// nothing but its guest.
type Program func(*Guest) any

// programs are those that guests of this process have been given, by source.
var programs sync.Map

// Source is the text that stands for a program.
func Source(p Program) string {
	source := fmt.Sprintf("program %d", lastProgram.Add(1))
	programs.Store(source, p)
	return source
}

var lastProgram atomic.Int64

// programOf returns the program that a text stands for, or nil.
func programOf(source string) Program {
	p, _ := programs.Load(source)
	program, _ := p.(Program)
	return program
}

// Guest is the world of a program.
type Guest struct {
	worker   *worker
	state    state
	report   *wire.Report // of the turn that runs
	end      turnEnd
	requests int // counted in this turn until now; so are the others
	timers   int
	outputs  int
	steps    int
}

// state is what a guest has: its image.
type state struct {
	Source   string
	Answers  []answer    // in the order of their coming
	Due      []time.Time // of its timers
	Requests int         // that have left
	Outputs  int         // that have left
	Steps    int         // that are done
	Now      time.Time   // of the newest turn
	Ballast  int
}

type answer struct {
	ID   uint64
	OK   bool
	JSON json.RawMessage
}

// Promise is a call or a timer of a guest.
type Promise struct {
	guest *Guest
	id    uint64
	due   time.Time // of a timer
}

// Thrown is what a program throws.
type Thrown struct{ wire.GuestError }

// Ask makes a bridge call.
func (g *Guest) Ask(m wire.Method, target string, path []string, args any) *Promise {
	g.requests++
	p := &Promise{guest: g, id: uint64(g.requests)}
	if g.requests > g.state.Requests {
		g.state.Requests++
		g.report.Requests = append(g.report.Requests, wire.Request{ID: p.id, Method: m, Target: target, Path: path, Args: encoded(args)})
	}
	return p
}

// Go calls a tool and does not wait for it.
func (g *Guest) Go(tool string, input any) *Promise {
	return g.Ask(wire.MethodCall, tool, nil, input)
}

// Call calls a tool and waits for it. A call that is rejected ends the program.
func (g *Guest) Call(tool string, input any) json.RawMessage { return g.Go(tool, input).Value() }

// Try calls a tool and returns how the call was rejected, as
// [message, code, effectStatus, toolId], or its value.
func (g *Guest) Try(tool string, input any) any { return g.Go(tool, input).Told() }

// Yield hands control back to the caller.
func (g *Guest) Yield() { g.Ask(wire.MethodYield, "", nil, nil).Value() }

// Cancel gives calls up.
func (g *Guest) Cancel(calls ...*Promise) {
	ids := []uint64{}
	for _, p := range calls {
		ids = append(ids, p.id)
	}
	g.Ask(wire.MethodCancel, "", nil, ids)
}

// Timer starts a timer.
func (g *Guest) Timer(d time.Duration) *Promise {
	if g.timers++; g.timers > len(g.state.Due) {
		g.state.Due = append(g.state.Due, g.state.Now.Add(d))
	}
	return &Promise{guest: g, due: g.state.Due[g.timers-1]}
}

// Sleep waits for a timer.
func (g *Guest) Sleep(d time.Duration) { g.Timer(d).wait() }

// Text emits text.
func (g *Guest) Text(s string) { g.emit(wire.OutputText, s) }

// JSON emits a value.
func (g *Guest) JSON(v any) { g.emit(wire.OutputJSON, v) }

func (g *Guest) emit(kind wire.OutputKind, v any) {
	if g.outputs++; g.outputs > g.state.Outputs {
		g.state.Outputs++
		g.report.Output = append(g.report.Output, wire.Output{Kind: kind, JSON: encoded(v)})
	}
}

// Once does something in the first turn that reaches it.
func (g *Guest) Once(do func()) {
	if g.steps++; g.steps > g.state.Steps {
		g.state.Steps++
		do()
	}
}

// Compute uses processor time, for as long as the worker may. A worker that it takes too long
// is ended.
func (g *Guest) Compute(d time.Duration) {
	g.Once(func() {
		g.report.CPUMicros += uint64(d.Microseconds())
		if err := g.worker.spend(g.end, d); err != nil {
			panic(err)
		}
	})
}

// Spend has the report of the turn say that the guest has used processor time.
func (g *Guest) Spend(d time.Duration) {
	g.Once(func() { g.report.CPUMicros += uint64(d.Microseconds()) })
}

// Grow makes the image of the guest so many bytes longer.
func (g *Guest) Grow(bytes int) { g.Once(func() { g.state.Ballast += bytes }) }

// File reads a virtual file.
func (g *Guest) File(path string) (content string, found bool) {
	b, found := g.worker.files(g.end.ctx, path)
	return string(b), found
}

// Throw ends the program with an exception.
func (g *Guest) Throw(message string) {
	panic(Thrown{wire.GuestError{Name: "Error", Message: message, Code: wire.CodeInternal, Reason: wire.ReasonGuestException, Phase: wire.PhaseGuest}})
}

// Race waits for the first of several promises to settle.
func (g *Guest) Race(of ...*Promise) *Promise {
	for _, a := range g.state.Answers {
		for _, p := range of {
			if p.id != 0 && p.id == a.ID {
				return p
			}
		}
	}
	for _, p := range of {
		if p.Settled() {
			return p
		}
	}
	panic(waits{})
}

// Settled reports whether a promise is settled.
func (p *Promise) Settled() bool {
	if p.id == 0 {
		return !p.due.After(p.guest.state.Now)
	}
	return p.answer() != nil
}

func (p *Promise) answer() *answer {
	for i := range p.guest.state.Answers {
		if a := &p.guest.state.Answers[i]; a.ID == p.id {
			return a
		}
	}
	return nil
}

// waits is the panic of a program that waits for a promise.
type waits struct{}

func (p *Promise) wait() *answer {
	if !p.Settled() {
		panic(waits{})
	}
	return p.answer()
}

// Value waits for the value of a call. A call that is rejected ends the program.
func (p *Promise) Value() json.RawMessage {
	a := p.wait()
	if a == nil || a.OK {
		return a.value()
	}
	e := p.Err()
	panic(Thrown{wire.GuestError{Name: "Error", Message: e.Message, Code: wire.CodeInternal, Reason: wire.ReasonNestedTool, Phase: wire.PhaseBridge}})
}

func (a *answer) value() json.RawMessage {
	if a == nil || len(a.JSON) == 0 {
		return json.RawMessage("null")
	}
	return a.JSON
}

// Err waits for a call and returns how it was rejected, or nil.
func (p *Promise) Err() *wire.CallError {
	a := p.wait()
	if a == nil || a.OK {
		return nil
	}
	e := &wire.CallError{}
	if err := json.Unmarshal(a.JSON, e); err != nil {
		panic("runstest: the host rejected a call with " + string(a.JSON))
	}
	return e
}

// Told waits for a call and returns its value, or [message, code, effectStatus, toolId].
func (p *Promise) Told() any {
	if e := p.Err(); e != nil {
		return []string{e.Message, e.Code, e.EffectStatus, e.ToolID}
	}
	return p.Value()
}

// encoded is v as JSON; nothing of nil.
func encoded(v any) []byte {
	if v == nil {
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}
