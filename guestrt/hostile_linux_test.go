package guestrt

import (
	"bytes"
	"context"
	le "encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt/sandbox"
	"github.com/quoinhq/quoin/guestrt/wire"
)

// hostilePrefix marks copies of the test binary that are hostile workers; the
// rest of the name says how.
const hostilePrefix = "hostile-"

// hostile workers answer Hello and then do their worst with the first request.
var hostile = map[string]func(*wire.Conn, *os.File){
	"garbage":     func(_ *wire.Conn, f *os.File) { spray(f, bytes.Repeat([]byte{0xee}, 64)) },
	"text":        func(_ *wire.Conn, f *os.File) { spray(f, []byte("HTTP/1.1 200 OK\r\n\r\n")) },
	"huge-frame":  func(_ *wire.Conn, f *os.File) { spray(f, []byte{0xff, 0xff, 0xff, 0xff, byte(wire.TypeReport)}) },
	"endless":     endlessReport,
	"wrong-type":  func(c *wire.Conn, _ *os.File) { say(c, &wire.Image{Data: []byte("x")}) },
	"host-type":   func(_ *wire.Conn, f *os.File) { spray(f, []byte{0, 0, 0, 0, byte(wire.TypeReset)}) },
	"forged-ids":  func(c *wire.Conn, _ *os.File) { say(c, forgedReport()) },
	"hang-up":     func(_ *wire.Conn, f *os.File) { f.Close(); select {} },
	"half-frame":  func(_ *wire.Conn, f *os.File) { spray(f, []byte{8, 0, 0, 0}); os.Exit(0) },
	"silent":      func(*wire.Conn, *os.File) { wait() },
	"exit-3":      func(*wire.Conn, *os.File) { os.Exit(3) },
	"exit-0":      func(*wire.Conn, *os.File) { os.Exit(0) },
	"exit-memory": func(*wire.Conn, *os.File) { os.Exit(wire.ExitMemory) },
	"bad-call":    func(*wire.Conn, *os.File) { badCall() },
	"panic":       func(*wire.Conn, *os.File) { panic("a bug of the worker") },
	"loud": func(c *wire.Conn, _ *os.File) {
		loud()
		say(c, &wire.Report{Status: wire.StatusDone, Value: []byte("1"), TimerMillis: -1})
	},
	"files":      func(c *wire.Conn, _ *os.File) { askForever(c) },
	"closes-log": func(*wire.Conn, *os.File) { os.Stderr.Close(); wait() },
}

// beHostile does not return if this process is a hostile worker.
func beHostile() {
	self, err := os.Executable()
	if err != nil {
		return
	}
	mode, ok := strings.CutPrefix(filepath.Base(self), hostilePrefix)
	if !ok {
		return
	}
	f := os.NewFile(3, "host")
	c := wire.NewConn(wire.Host, f)
	if _, err := c.Receive(); err != nil {
		os.Exit(1)
	}
	switch mode {
	case "before-ready":
		spray(f, []byte("nonsense, and a lot of it"))
	case "other-version":
		say(c, &wire.Ready{Version: wire.Version + 1})
	case "liar":
		say(c, &wire.Ready{Version: wire.Version, Layers: []wire.Layer{{Name: sandbox.LayerSeccomp, State: wire.LayerOn}}})
	case "never-ready":
		os.Exit(0)
	}
	say(c, &wire.Ready{Version: wire.Version, EngineID: "hostile"})
	if _, err := c.Receive(); err != nil {
		os.Exit(0)
	}
	hostile[mode](c, f)
	wait()
}

func wait() {
	_, _ = io.Copy(io.Discard, os.NewFile(3, "host"))
	os.Exit(0)
}

func say(c *wire.Conn, m wire.Message) {
	if c.Send(m) != nil {
		os.Exit(1)
	}
}

func spray(f *os.File, b []byte) {
	if _, err := f.Write(b); err != nil {
		os.Exit(1)
	}
}

func endlessReport(_ *wire.Conn, f *os.File) {
	frame := le.LittleEndian.AppendUint32(nil, wire.MaxFrame)
	frame = append(frame, byte(wire.TypeReport)|0x80)
	frame = append(frame, make([]byte, wire.MaxFrame)...)
	for {
		spray(f, frame)
	}
}

func forgedReport() *wire.Report {
	return &wire.Report{TimerMillis: -1, Requests: []wire.Request{{ID: 2, Method: wire.MethodYield}, {ID: 2, Method: wire.MethodYield}}}
}

func loud() {
	line := []byte(strings.Repeat("noise ", 1000) + "\n")
	for range 2000 {
		_, _ = os.Stderr.Write(line)
	}
}

func askForever(c *wire.Conn) {
	for {
		say(c, &wire.NeedFile{Path: "catalog.json"})
		if _, err := c.Receive(); err != nil {
			os.Exit(0)
		}
	}
}

// hostileConfig names a copy of the test binary whose name makes it hostile.
func hostileConfig(t *testing.T, mode string) Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), hostilePrefix+mode)
	if err := os.Link(self, path); err != nil {
		data, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return Config{GuestPath: path, Prepared: 1, Isolation: IsolationBestEffort}
}

func TestHostileWorkersHarmNobody(t *testing.T) {
	for mode, want := range map[string]struct{ code, reason string }{
		"garbage":     {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"text":        {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"huge-frame":  {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"endless":     {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"wrong-type":  {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"host-type":   {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"forged-ids":  {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"hang-up":     {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"half-frame":  {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"exit-3":      {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"exit-0":      {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"panic":       {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"closes-log":  {wire.CodeInternal, wire.ReasonWorkerCrashed},
		"exit-memory": {wire.CodeMemoryLimit, ""},
		"bad-call":    {wire.CodeInternal, wire.ReasonSandboxViolation},
		"silent":      {wire.CodeTimeout, ""},
		"files":       {wire.CodeTimeout, ""},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, hostileConfig(t, mode))
			w := acquire(t, p, "s")
			deadline := in(plenty)
			if want.code == wire.CodeTimeout {
				deadline = in(300 * time.Millisecond)
			}
			_, err := w.Start(context.Background(), js("return 1"), nil, deadline)
			wantEnding(t, err, want.code, want.reason)
			again, second := w.Turn(context.Background(), nil, deadline)
			if second == nil || second.Error() != err.Error() {
				t.Errorf("a dead worker answers %v, %v", again, second)
			}
			p.Release(w)
			if next := acquire(t, p, "s"); next.Pid() == w.Pid() {
				t.Error("the worker is lent again")
			}
		})
	}
}

func TestWorkersThatNeverGetReadyAreUnavailable(t *testing.T) {
	for _, mode := range []string{"before-ready", "other-version", "never-ready", "liar"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			_, err := NewPool(context.Background(), hostileConfig(t, mode))
			wantEnding(t, err, wire.CodeRuntimeUnavailable, "")
		})
	}
}

func TestLogOfAWorkerIsCapped(t *testing.T) {
	var log lines
	c := hostileConfig(t, "loud")
	c.Logger = log.logger()
	p := newPool(t, c)
	w := acquire(t, p, "s")
	wantValue(t, start(t, w, js("return 1"), nil), "1")
	w.Kill()
	p.Release(w)
	<-w.p.gone
	if n, text := log.count(); n > maxLogLines+1 || len(text) > 2*maxLogLines*maxLogLine || !strings.Contains(text, "noise") {
		t.Errorf("%d lines, %d bytes were logged", n, len(text))
	}
}
