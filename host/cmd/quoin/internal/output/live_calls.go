package output

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/terminal"
)

const (
	liveLines = 8                      // calls that are shown at one time
	liveEvery = 200 * time.Millisecond // how often their times are brought up to date
)

// liveCall is one nested call on the screen, or a server that the run waits for.
type liveCall struct {
	id, name, state string // a server has no id
	start, end      time.Time
}

// Calls shows the calls of a run while it runs, one line each. It rewrites the
// lines in place and erases them at the end. The methods of a nil Calls do nothing.
type Calls struct {
	w       io.Writer
	columns func() int
	done    func()

	mu     sync.Mutex
	calls  []*liveCall
	drawn  int // lines on the screen
	hidden bool
}

// FollowCalls shows the calls of a host's runs on a terminal. Before you write anything
// else call Done, which erases them for good, or Show.
func FollowCalls(h *host.Host, w io.Writer) *Calls {
	if !IsTerminal(w) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	events := h.Follow(ctx, host.EventFilter{All: true, OwnHost: true})
	l := &Calls{w: w, columns: Width(w)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(liveEvery)
		defer tick.Stop()
		for {
			select {
			case e, ok := <-events:
				if !ok {
					l.Show(false)
					return
				}
				l.update(time.Now(), func() bool { return l.note(e) })
			case now := <-tick.C:
				l.update(now, l.running)
			}
		}
	}()
	l.done = func() {
		cancel()
		<-ended
	}
	return l
}

// Done erases the calls for good.
func (l *Calls) Done() {
	if l != nil {
		l.done()
	}
}

// Show shows the calls, or erases them for now.
func (l *Calls) Show(on bool) {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.erase()
		l.hidden = !on
	}
}

// update draws the calls if the screen has to change.
func (l *Calls) update(now time.Time, changed func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if changed() && !l.hidden {
		l.draw(now)
	}
}

// note records an event. It reports whether the screen has to change.
func (l *Calls) note(e trajectory.Event) bool {
	if e.Kind == trajectory.ServerAwaited {
		l.calls = append(l.calls, &liveCall{name: "MCP server " + terminal.Short(e.Owner), state: "is being connected", start: e.Time})
		return true
	}
	waited := len(l.calls)
	l.calls = slices.DeleteFunc(l.calls, func(c *liveCall) bool { return c.id == "" }) // the wait is over
	i := slices.IndexFunc(l.calls, func(c *liveCall) bool { return c.id == e.CallID })
	switch {
	case e.Kind == trajectory.CallStarted && i < 0:
		l.calls = append(l.calls, &liveCall{id: e.CallID, name: terminal.Short(cmp.Or(e.Via, e.ToolName)), start: e.Start})
	case i < 0:
		return len(l.calls) < waited
	case e.Kind == trajectory.CallProgress:
		if l.calls[i].state = terminal.Short(e.Message); e.Progress > 0 {
			l.calls[i].state = strings.TrimSpace(fmt.Sprintf("%.0f %% %s", e.Progress*100, l.calls[i].state))
		}
	case e.Kind == trajectory.ApprovalRequested:
		l.calls[i].state = "waits for approval: quoin approvals show " + terminal.Short(e.ApprovalID)
	case e.Kind == trajectory.ApprovalDecided:
		l.calls[i].state = terminal.Short(e.Decision)
	case e.Kind == trajectory.CallEnded:
		l.calls[i].end, l.calls[i].state = e.Time, string(e.Outcome)
		if e.Code != "" {
			l.calls[i].state = terminal.Short(e.Code)
		}
	}
	return true
}

// running reports whether a call has not ended.
func (l *Calls) running() bool {
	return slices.ContainsFunc(l.calls, func(c *liveCall) bool { return c.end.IsZero() })
}

// draw writes the newest calls over the lines on the screen.
func (l *Calls) draw(now time.Time) {
	var b strings.Builder
	b.WriteString(l.up())
	shown := l.calls
	l.drawn = 0
	if n := len(shown) - liveLines; n > 0 {
		shown = shown[n:]
		l.line(&b, fmt.Sprintf("  … %s before", Count(n, "call")))
	}
	for _, c := range shown {
		mark, end := "…", now
		if !c.end.IsZero() {
			mark, end = "✓", c.end
			if c.state != string(trajectory.OutcomeOK) {
				mark = "✗"
			}
		}
		took := max(end.Sub(c.start), 0)
		l.line(&b, strings.TrimRight(fmt.Sprintf("  %s %s  %s  %s", mark, c.name, millis(float64(took)/float64(time.Millisecond)), c.state), " "))
	}
	_, _ = io.WriteString(l.w, b.String()) // a terminal that is gone shows nothing
}

// line adds a line that does not wrap.
func (l *Calls) line(b *strings.Builder, text string) {
	if r := []rune(text); l.columns != nil && l.columns() > 1 && len(r) >= l.columns() {
		text = string(r[:l.columns()-2]) + "…"
	}
	fmt.Fprintf(b, "%s\n", dim(l.w, text))
	l.drawn++
}

// erase removes the lines from the screen.
func (l *Calls) erase() {
	_, _ = io.WriteString(l.w, l.up())
	l.drawn = 0
}

// up returns the escapes that move to the first line and clear the rest of the screen.
func (l *Calls) up() string {
	if l.drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", l.drawn)
}
