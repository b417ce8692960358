package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/terminal"
)

const (
	liveLines = 8                      // calls that are shown at one time
	liveEvery = 200 * time.Millisecond // how often their times are brought up to date
)

// liveCall is one nested call on the screen.
type liveCall struct {
	id, name, state string
	began, ended    time.Time
}

// liveCalls shows the calls of a run while it runs, one line each. The lines are
// rewritten in place, and taken away in the end.
type liveCalls struct {
	w       io.Writer
	columns func() int
	calls   []*liveCall
	drawn   int // lines that stand on the screen
}

// follow shows the calls of a host's runs on a terminal. The function that it returns
// takes them away and must be called before anything else is written.
func follow(h *host.Host, w io.Writer) (done func()) {
	if !isTerminal(w) || os.Getenv("TERM") == "dumb" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	events := h.Subscribe(ctx)
	l := &liveCalls{w: w, columns: widthOf(w)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(liveEvery)
		defer tick.Stop()
		for {
			select {
			case e, ok := <-events:
				if !ok {
					l.erase()
					return
				}
				if l.note(e) {
					l.draw(time.Now())
				}
			case now := <-tick.C:
				if l.running() {
					l.draw(now)
				}
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// note takes one event, and reports whether the screen has to change.
func (l *liveCalls) note(e trajectory.Event) bool {
	i := slices.IndexFunc(l.calls, func(c *liveCall) bool { return c.id == e.CallID })
	switch {
	case e.Kind == trajectory.CallStarted && i < 0:
		l.calls = append(l.calls, &liveCall{id: e.CallID, name: terminal.Short(cmp.Or(e.Via, e.ToolName)), began: e.Start})
	case i < 0:
		return false
	case e.Kind == trajectory.CallProgress:
		l.calls[i].state = fmt.Sprintf("%.0f %%", e.Progress*100)
	case e.Kind == trajectory.ApprovalRequested:
		l.calls[i].state = "waits for approval: quoin approvals show " + terminal.Short(e.ApprovalID)
	case e.Kind == trajectory.ApprovalDecided:
		l.calls[i].state = terminal.Short(e.Decision)
	case e.Kind == trajectory.CallEnded:
		l.calls[i].ended, l.calls[i].state = e.Time, string(e.Outcome)
		if e.Code != "" {
			l.calls[i].state = terminal.Short(e.Code)
		}
	}
	return true
}

// running reports whether a call has not ended.
func (l *liveCalls) running() bool {
	return slices.ContainsFunc(l.calls, func(c *liveCall) bool { return c.ended.IsZero() })
}

// draw writes the newest calls over those that stand there.
func (l *liveCalls) draw(now time.Time) {
	var b strings.Builder
	b.WriteString(l.up())
	shown := l.calls
	l.drawn = 0
	if n := len(shown) - liveLines; n > 0 {
		shown = shown[n:]
		l.line(&b, fmt.Sprintf("  … %s before", count(n, "call")))
	}
	for _, c := range shown {
		mark, end := "…", now
		if !c.ended.IsZero() {
			mark, end = "✓", c.ended
			if c.state != string(trajectory.OutcomeOK) {
				mark = "✗"
			}
		}
		took := max(end.Sub(c.began), 0)
		l.line(&b, strings.TrimRight(fmt.Sprintf("  %s %s  %s  %s", mark, c.name, millis(float64(took)/float64(time.Millisecond)), c.state), " "))
	}
	_, _ = io.WriteString(l.w, b.String()) // a terminal that is gone gets no picture
}

// line adds a line that does not wrap.
func (l *liveCalls) line(b *strings.Builder, text string) {
	if r := []rune(text); l.columns != nil && l.columns() > 1 && len(r) >= l.columns() {
		text = string(r[:l.columns()-2]) + "…"
	}
	fmt.Fprintf(b, "%s\n", dim(l.w, text))
	l.drawn++
}

// erase takes the lines away.
func (l *liveCalls) erase() {
	_, _ = io.WriteString(l.w, l.up())
	l.drawn = 0
}

// up goes to the first line that stands there and clears all from it on.
func (l *liveCalls) up() string {
	if l.drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", l.drawn)
}
