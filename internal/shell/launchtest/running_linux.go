package launchtest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// hangs is when a case gives up. No case needs a part of it.
const hangs = 2 * time.Minute

// environment is what commands are given, unless the case is about that.
var environment = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TERM=xterm"}

// running is a process of a case, with what it has written so far.
type running struct {
	execution.Process
	t      *testing.T
	output bytes.Buffer
}

// script starts a script of the shell without a terminal.
func (h Host) script(t *testing.T, script string) *running {
	t.Helper()
	return h.start(t, h.command(script))
}

// command is a command that runs a script of the shell.
func (h Host) command(script string) execution.Command {
	return execution.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: h.Dir, Env: environment}
}

// start starts a command, and ends it with the case.
func (h Host) start(t *testing.T, c execution.Command) *running {
	t.Helper()
	p, err := h.Launcher.Start(t.Context(), c)
	if err != nil {
		t.Fatalf("start %q: %v", c.Argv, err)
	}
	late := time.AfterFunc(hangs, func() {
		t.Errorf("%q has not ended in time", c.Argv)
		p.Kill()
	})
	t.Cleanup(func() {
		late.Stop()
		p.Kill()
		if _, err := p.Wait(); err != nil {
			t.Errorf("wait for %q: %v", c.Argv, err)
		}
	})
	return &running{Process: p, t: t}
}

// until reads until the output ends in text.
func (r *running) until(text string) {
	r.t.Helper()
	chunk := make([]byte, 4<<10)
	for !strings.HasSuffix(r.output.String(), text) {
		n, err := r.Read(chunk)
		r.output.Write(chunk[:n])
		if err != nil {
			r.t.Fatalf("read %q, then %v: want %q", r.output.String(), err, text)
		}
	}
}

// contains reads until text is somewhere in the output.
func (r *running) contains(text string) {
	r.t.Helper()
	chunk := make([]byte, 4<<10)
	for !strings.Contains(r.output.String(), text) {
		n, err := r.Read(chunk)
		r.output.Write(chunk[:n])
		if err != nil {
			r.t.Fatalf("read %q, then %v: want %q in it", r.output.String(), err, text)
		}
	}
}

// all reads to the end and returns the whole output.
func (r *running) all() string {
	r.t.Helper()
	if _, err := io.Copy(&r.output, r.Process); err != nil {
		r.t.Fatalf("read the output: %v", err)
	}
	return r.output.String()
}

// typed writes to the input.
func (r *running) typed(text string) {
	r.t.Helper()
	if _, err := io.WriteString(r.Process, text); err != nil {
		r.t.Fatalf("write %q: %v", text, err)
	}
}

// closeInput ends the input.
func (r *running) closeInput() {
	r.t.Helper()
	if err := r.CloseInput(); err != nil {
		r.t.Fatalf("close the input: %v", err)
	}
}

// exits fails unless the process ends in this way. It has been read to its end or
// killed.
func (r *running) exits(want execution.Exit) {
	r.t.Helper()
	got, err := r.Wait()
	if err != nil {
		r.t.Fatalf("wait: %v", err)
	}
	if got != want {
		r.t.Errorf("ended with %+v, want %+v", got, want)
	}
}

// writes fails unless the output is want and the exit status code.
func (r *running) writes(want string, code int) {
	r.t.Helper()
	if got := r.all(); got != want {
		r.t.Errorf("wrote %q, want %q", got, want)
	}
	r.exits(execution.Exit{Code: code})
}

// waits is a script that waits without end, and takes its traps soon. To wait for one
// long sleep would not do: a shell may miss a signal between two commands.
const waits = "while :; do sleep 0.1; done"

// remove removes a file that may not be there.
func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
