package hostileworker

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// beforeReady are the modes that misbehave before the worker is ready. They need
// an executable of their own.
var beforeReady = map[string]func(*worker){
	"before-ready":  func(w *worker) { w.spray([]byte("nonsense, and a lot of it")) },
	"other-version": func(w *worker) { w.say(&wire.Ready{Version: wire.Version + 1}) },
	"liar": func(w *worker) {
		w.say(&wire.Ready{Version: wire.Version, Layers: []wire.Layer{{Name: sandbox.LayerSeccomp, State: wire.LayerOn}}})
	},
	"never-ready": func(*worker) { os.Exit(0) },
}

// noRestore is a mode of an executable: each cell yields, and no process takes a
// guest.
const noRestore = "no-restore"

// earlierBuild is a mode of an executable: it is of a build that speaks the oldest version
// of the protocol and knows no pipes. Each cell says what it does.
const earlierBuild = "earlier-build"

// modes are called with the first message of a cell received and not answered.
var modes = map[string]func(*worker){
	// Answers that break the protocol.
	"garbage":    func(w *worker) { w.spray(bytes.Repeat([]byte{0xee}, 64)) },
	"text":       func(w *worker) { w.spray([]byte("HTTP/1.1 200 OK\r\n\r\n")) },
	"huge-frame": func(w *worker) { w.spray([]byte{0xff, 0xff, 0xff, 0xff, byte(wire.TypeReport)}) },
	"endless":    func(w *worker) { w.stream(wire.TypeReport, nil, 1<<40) },
	"wrong-type": func(w *worker) { w.say(&wire.Image{Data: []byte("x")}) },
	"host-type":  func(w *worker) { w.spray([]byte{0, 0, 0, 0, byte(wire.TypeReset)}) },
	"forged-ids": func(w *worker) {
		w.say(idle(wire.Request{ID: 2, Method: wire.MethodYield}, wire.Request{ID: 2, Method: wire.MethodYield}))
	},
	"half-frame": func(w *worker) { w.spray([]byte{8, 0, 0, 0}); os.Exit(0) },

	// No answers, and ends of the process.
	"hang-up": func(w *worker) { w.raw.Close(); time.Sleep(time.Hour) },
	"mute":    func(w *worker) { w.raw.To.Close(); w.drain() },
	"silent":  (*worker).drain,

	// "deaf" and "unread" call the tool "large". The first has closed the pipe that it reads
	// from, and that alone; the other one does not read what it gets.
	"deaf":   func(w *worker) { w.raw.From.Close(); w.say(callsLarge()); time.Sleep(time.Hour) },
	"unread": func(w *worker) { w.say(callsLarge()); time.Sleep(time.Hour) },

	"exit-3":      func(*worker) { os.Exit(3) },
	"exit-0":      func(*worker) { os.Exit(0) },
	"exit-memory": func(*worker) { os.Exit(wire.ExitMemory) },
	"bad-call":    func(*worker) { badCall() },
	"panic":       func(*worker) { panic("a bug of the worker") },
	"closes-log":  func(w *worker) { os.Stderr.Close(); w.drain() },
	"files":       (*worker).askForever,
	noRestore:     (*worker).wearOut,

	// Valid messages that lie. "cpu N" and "heap N" are the numbers of a report.
	"cpu":  func(w *worker) { r := done(); r.CPUMicros = w.number(0); w.say(r) },
	"heap": func(w *worker) { r := done(); r.HeapBytes, r.HeapPeakBytes = w.number(0), w.number(0); w.say(r) },

	// "trail N" emits text with N blanks behind it, and returns; "trail-yield N"
	// does and yields.
	"trail": func(w *worker) { r := done(); r.Output = trailing(w.number(0)); w.say(r) },
	"trail-yield": func(w *worker) {
		r := idle(wire.Request{ID: 1, Method: wire.MethodYield})
		r.Output = trailing(w.number(0))
		w.say(r)
	},

	// "threads N" makes N threads and never returns.
	"threads": func(w *worker) { makeThreads(w.number(0)); w.drain() },

	// "memory N" touches N MiB and never returns.
	"memory": func(w *worker) {
		defer runtime.KeepAlive(touch(w.number(0) << 20))
		w.drain()
	},

	// "pin N" reports N bytes of arguments and a few bytes of output in each turn.
	"pin": (*worker).pin,
	// "image N" answers a request for a snapshot with N bytes, whatever its limit.
	"image": (*worker).largeImage,

	// "wears-out" yields, and dies for want of memory when it is to take its guest
	// again. Another process takes it.
	"wears-out": (*worker).wearOut,

	// "odd-reset" returns, and answers what should make it forget its guest with
	// something else.
	"odd-reset": func(w *worker) {
		w.say(done())
		w.receive()
		w.say(&wire.Restored{})
	},

	// "linger" returns, and keeps a processor busy from then on; "linger-loud"
	// writes into the log instead.
	"linger":      func(w *worker) { go spin(); w.say(done()) },
	"linger-loud": func(w *worker) { go shout(); w.say(done()) },
	// "loud" writes 2000 lines into the log and returns.
	"loud": func(w *worker) { shoutLines(2000); w.say(done()) },
	// "cpu-lie" never returns, and says that it needs no processor time: each turn
	// waits for a timer that is due at once.
	"cpu-lie": (*worker).cpuLie,
}

func callsLarge() *wire.Report {
	return idle(wire.Request{ID: 1, Method: wire.MethodCall, Target: "large", Args: []byte("{}")})
}

func touch(n uint64) []byte {
	const page = 4096
	b := make([]byte, n)
	for i := uint64(0); i < n; i += page {
		b[i] = 1
	}
	return b
}

func makeThreads(n uint64) {
	for range n {
		go func() {
			runtime.LockOSThread()
			select {}
		}()
	}
}

func trailing(blanks uint64) []wire.Output {
	return []wire.Output{{Kind: wire.OutputText, JSON: []byte(`"aaa"` + strings.Repeat(" ", int(blanks)))}}
}

// stream sends a message of head and n more bytes, all zero, without having it in
// memory.
func (w *worker) stream(t wire.Type, head []byte, n uint64) {
	const headerBytes, moreFollows = 5, 0x80
	frame := make([]byte, headerBytes+wire.MaxFrame)
	copy(frame[headerBytes:], head)
	for left := uint64(len(head)) + n; left > 0; {
		size, kind := left, byte(t)
		if size > wire.MaxFrame {
			size, kind = wire.MaxFrame, kind|moreFollows
		}
		binary.LittleEndian.PutUint32(frame, uint32(size))
		frame[4] = kind
		w.spray(frame[:headerBytes+size])
		clear(frame[headerBytes:])
		left -= size
	}
}

func (w *worker) askForever() {
	for {
		w.say(&wire.NeedFile{Path: "catalog.json"})
		w.receive()
	}
}

func (w *worker) pin() {
	args := []byte(`{"a":"` + strings.Repeat("x", int(w.number(0))) + `"}`)
	for id := uint64(1); ; id++ {
		r := idle(wire.Request{ID: id, Method: wire.MethodCall, Target: "nope", Args: args})
		r.Output = []wire.Output{{Kind: wire.OutputText, JSON: []byte(`"x"`)}}
		w.say(r)
		w.receive()
	}
}

func (w *worker) largeImage() {
	w.say(idle(wire.Request{ID: 1, Method: wire.MethodYield}))
	for {
		m := w.receive()
		if _, ok := m.(*wire.Snapshot); ok {
			n := w.number(0)
			w.stream(wire.TypeImage, binary.LittleEndian.AppendUint32(nil, uint32(n)), n)
			return
		}
		w.oblige(m)
	}
}

func (w *worker) wearOut() {
	w.say(idle(wire.Request{ID: 1, Method: wire.MethodYield}))
	for {
		m := w.receive()
		if _, ok := m.(*wire.Restore); ok {
			os.Exit(wire.ExitMemory)
		}
		w.oblige(m)
	}
}

func (w *worker) cpuLie() {
	go spin()
	for {
		r := idle()
		r.TimerMillis = 0
		w.say(r)
		w.receive()
	}
}

// ended stays false.
var ended atomic.Bool

func spin() {
	for !ended.Load() {
	}
}

func shout() {
	for {
		shoutLines(1000)
	}
}

func shoutLines(n int) {
	line := []byte(strings.Repeat("noise ", 1000) + "\n")
	for range n {
		_, _ = os.Stderr.Write(line)
	}
}
