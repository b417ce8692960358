package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// Status says how a session stands.
type Status string

// The statuses.
const (
	Running   Status = "running"
	Completed Status = "completed" // the process has ended by itself, whatever its exit code
	Failed    Status = "failed"    // a signal, its timeout or a limit has ended it
	Killed    Status = "killed"    // it was told to end
)

// State is what a session looks like at one moment.
type State struct {
	ID      string
	Status  Status
	Spec    Spec
	PID     int
	Exit    execution.Exit // once it has ended
	Started time.Time
	Ended   time.Time
	// Timeout reports that its timeout has ended the process.
	Timeout bool
	// Total is how many bytes the process has written.
	Total int64
}

// Session is one process.
type Session struct {
	id      string
	spec    Spec
	process execution.Process
	started time.Time
	grace   time.Duration
	input   chan struct{} // holds a token while input is being written
	done    chan struct{}

	mu      sync.Mutex
	output  output
	seen    int64 // what polls have returned
	changed chan struct{}
	status  Status
	exit    execution.Exit
	ended   time.Time
	cause   cause
	reason  string // of the caller, in place of the host's
}

// cause is why a process was told to end.
type cause int

const (
	byItself cause = iota
	byTimeout
	byCaller
)

// read keeps the output until the process has ended.
func (s *Session) read() {
	b := make([]byte, 32<<10)
	for {
		n, err := s.process.Read(b)
		if n > 0 {
			s.mu.Lock()
			s.output.write(b[:n])
			s.signal()
			s.mu.Unlock()
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.process.Kill()
			}
			break
		}
	}
	exit, err := s.process.Wait()
	if err != nil {
		exit = execution.Exit{Code: -1, Reason: fmt.Sprintf("how it ended is not known: %v", err)}
	}
	s.finish(exit)
}

func (s *Session) finish(exit execution.Exit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	exit.Reason = cmp.Or(s.reason, exit.Reason)
	s.exit, s.ended = exit, time.Now()
	switch {
	case s.cause == byCaller:
		s.status = Killed
	case s.cause == byTimeout, exit.Signal != "", exit.Reason != "":
		s.status = Failed
	default:
		s.status = Completed
	}
	s.signal()
	close(s.done)
}

// signal wakes those who wait for output or the end. The lock is held.
func (s *Session) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Done is closed when the process has ended.
func (s *Session) Done() <-chan struct{} { return s.done }

// State returns what the session looks like now.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{
		ID: s.id, Status: s.status, Spec: s.spec, PID: s.process.PID(), Exit: s.exit,
		Started: s.started, Ended: s.ended, Timeout: s.cause == byTimeout, Total: s.output.total,
	}
}

// Poll returns the output that no Poll has returned. Before, it waits until there is
// some or, with untilEnd, until the process has ended, for as long as wait.
func (s *Session) Poll(ctx context.Context, wait time.Duration, untilEnd, raw bool) (text string, omitted int64, err error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	if untilEnd {
		select {
		case <-s.done:
		case <-timer.C:
		case <-ctx.Done():
			return "", 0, context.Cause(ctx)
		}
		text, omitted, _ = s.unseen(raw)
		return text, omitted, nil
	}
	for {
		var changed <-chan struct{}
		if text, omitted, changed = s.unseen(raw); text != "" || changed == nil {
			return text, omitted, nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return "", 0, nil
		case <-ctx.Done():
			return "", 0, context.Cause(ctx)
		}
	}
}

// unseen returns the output that no Poll has returned, and what is closed when there is
// more; nil once the process has ended.
func (s *Session) unseen(raw bool) (text string, omitted int64, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.take(&s.seen)
	if s.status == Running {
		changed = s.changed
	}
	return k.text(raw), k.omitted, changed
}

// take returns the output from *pos on and moves *pos behind it. While the process
// runs, a character or a control sequence that is not whole is left for later. The
// lock is held.
func (s *Session) take(pos *int64) kept {
	k := s.output.since(*pos)
	end := s.output.total
	if s.status == Running {
		last := &k.before
		if k.omitted > 0 {
			last = &k.after
		}
		w := whole(*last)
		end -= int64(len(*last) - len(w))
		*last = w
	}
	*pos = end
	return k
}

// Next returns the output after *pos and moves *pos behind it.
func (s *Session) Next(pos *int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(pos).text(false)
}

// Output returns all that is kept of the output, and has Poll return what comes from now
// on.
func (s *Session) Output(raw bool) (text string, omitted int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = 0
	k := s.take(&s.seen)
	return k.text(raw), k.omitted
}

// Log returns lines of the output that is kept: limit of them from offset on, or the
// last ones if offset is negative. It returns how many lines there are.
func (s *Session) Log(offset, limit int, raw bool) (text string, first, lines int, omitted int64) {
	s.mu.Lock()
	k := s.output.since(0)
	s.mu.Unlock()
	all := strings.SplitAfter(k.text(raw), "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	if offset < 0 {
		offset = max(len(all)-limit, 0)
	}
	offset = min(offset, len(all))
	end := min(offset+limit, len(all))
	return strings.Join(all[offset:end], ""), offset, len(all), k.omitted
}

// Kill ends the process and all that it has started: it asks, and after a short grace
// it insists. It returns when all are gone, or ctx ends.
func (s *Session) Kill(ctx context.Context) error { return s.end(ctx, byCaller) }

func (s *Session) end(ctx context.Context, why cause) error {
	s.mu.Lock()
	running := s.status == Running
	if running && s.cause == byItself {
		s.cause = why
	}
	s.mu.Unlock()
	if !running {
		return nil
	}
	s.process.Interrupt()
	timer := time.NewTimer(s.grace)
	defer timer.Stop()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
	case <-timer.C:
	}
	s.process.Kill()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
