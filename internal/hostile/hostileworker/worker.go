package hostileworker

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/quoinhq/quoin/internal/selfexec"
	"github.com/quoinhq/quoin/internal/wire"
)

// prefix marks the executables of hostile workers; the rest of the name is the
// mode, or anyMode.
const (
	prefix  = "hostile-"
	anyMode = "worker"
)

// Executable makes a hostile worker of the running test binary in dir and returns
// its path. mode is what it does; empty means that each cell says it.
func Executable(dir, mode string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if mode == "" {
		mode = anyMode
	}
	path := filepath.Join(dir, prefix+mode)
	if os.Link(self, path) == nil {
		return path, nil
	}
	data, err := os.ReadFile(self)
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, data, 0o755)
}

// ServeIfHostile turns this process into a hostile worker if it was started as
// one, and then never returns.
func ServeIfHostile() {
	self, err := os.Executable()
	if err != nil || !selfexec.IsWorker() {
		return
	}
	if mode, ok := strings.CutPrefix(filepath.Base(self), prefix); ok {
		serve(mode)
	}
}

// worker is the hostile worker's end of the conversation.
type worker struct {
	conn *wire.Conn
	raw  wire.Pipes
	args []string // of its mode

	version uint32 // of the protocol
}

func serve(mode string) {
	if mode == earlierBuild && !selfexec.OnSocket() {
		os.Exit(wire.ExitUsage) // it does not know the command line, and would run as a program of its own
	}
	raw, err := selfexec.Connection()
	if err != nil {
		panic(err)
	}
	w := &worker{conn: wire.NewConn(wire.Host, raw), raw: raw}
	hello, ok := w.receive().(*wire.Hello)
	if !ok || mode == earlierBuild && hello.Version > wire.OldestVersion {
		w.say(&wire.Fault{Code: wire.CodeRuntimeUnavailable, Message: "this worker is older"})
		os.Exit(0)
	}
	if deed, ok := beforeReady[mode]; ok {
		deed(w)
		w.drain()
	}
	w.version = hello.Version
	w.say(w.ready())
	for {
		m := w.receive()
		start, ok := m.(*wire.Start)
		if _, restore := m.(*wire.Restore); restore && mode == noRestore {
			os.Exit(wire.ExitMemory)
		}
		if !ok {
			w.oblige(m)
			continue
		}
		words := strings.Fields(start.Cell.Source)
		if mode != anyMode && mode != earlierBuild {
			words = []string{mode}
		}
		deed := modes[words[0]]
		if deed == nil {
			panic("no mode " + words[0])
		}
		w.args = words[1:]
		deed(w)
	}
}

func (w *worker) ready() *wire.Ready { return &wire.Ready{Version: w.version, EngineID: "hostile"} }

// oblige answers a message as a good worker would, with as little as it can.
func (w *worker) oblige(m wire.Message) {
	switch m.(type) {
	case *wire.Start, *wire.Turn:
		w.say(done())
	case *wire.Snapshot:
		w.say(&wire.Image{Data: []byte{1}})
	case *wire.Restore:
		w.say(&wire.Restored{})
	case *wire.Reset:
		w.say(w.ready())
	}
}

// done is the report of a program that has returned 1.
func done() *wire.Report {
	return &wire.Report{Status: wire.StatusDone, Value: []byte("1"), TimerMillis: -1}
}

// idle is the report of a program that waits for what it has requested.
func idle(requests ...wire.Request) *wire.Report {
	return &wire.Report{Requests: requests, Pending: len(requests), TimerMillis: -1}
}

// number is an argument of the mode.
func (w *worker) number(i int) uint64 {
	n, err := strconv.ParseUint(w.args[i], 0, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (w *worker) receive() wire.Message {
	m, err := w.conn.Receive()
	if err != nil {
		os.Exit(0)
	}
	return m
}

func (w *worker) say(m wire.Message) {
	if w.conn.Send(m) != nil {
		os.Exit(1)
	}
}

// spray writes bytes that need not be a message.
func (w *worker) spray(b []byte) {
	if _, err := w.raw.Write(b); err != nil {
		os.Exit(1)
	}
}

// drain says nothing more and waits until the host hangs up.
func (w *worker) drain() {
	_, _ = io.Copy(io.Discard, w.raw)
	os.Exit(0)
}
