package output

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/trajectory"
)

// TestALineHasWhatItsToolDoes: the share and the message of a call's steps stand in its line,
// and nothing of it where the calls are hidden.
func TestALineHasWhatItsToolDoes(t *testing.T) {
	t.Parallel()
	var screen bytes.Buffer
	l := &Calls{w: &screen}
	now := time.Now()
	note := func(e trajectory.Event) {
		e.CallID, e.Via, e.Start = "1", "Nap.take", now
		l.update(now, func() bool { return l.note(e) })
	}
	note(trajectory.Event{Kind: trajectory.CallStarted})
	note(trajectory.Event{Kind: trajectory.CallProgress, Progress: 0.25, Message: "napping\x1b[2J"})
	if !strings.HasSuffix(screen.String(), `  … Nap.take  0s  25 % napping\x1b[2J`+"\n") {
		t.Errorf("drawn %q", screen.String())
	}
	note(trajectory.Event{Kind: trajectory.CallProgress, Message: "waits for make"})
	if !strings.HasSuffix(screen.String(), "  0s  waits for make\n") {
		t.Errorf("drawn %q", screen.String())
	}
	l.Show(false)
	screen.Reset()
	note(trajectory.Event{Kind: trajectory.CallProgress, Progress: 0.5})
	if screen.Len() > 0 {
		t.Errorf("drawn although hidden: %q", screen.String())
	}
	l.Show(true)
	note(trajectory.Event{Kind: trajectory.CallProgress, Progress: 0.75})
	if !strings.Contains(screen.String(), "75 %\n") {
		t.Errorf("drawn %q", screen.String())
	}
}

// TestAServerThatARunWaitsForIsShown until something else happens in the run.
func TestAServerThatARunWaitsForIsShown(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := &Calls{w: &out}
	draw := func(e trajectory.Event) string {
		out.Reset()
		if l.note(e) {
			l.draw(time.Now())
		}
		return out.String()
	}
	if got := draw(trajectory.Event{Kind: trajectory.ServerAwaited, Owner: "sl\x1bow"}); !strings.Contains(got, `MCP server sl\x1bow`) || !strings.Contains(got, "is being connected") || !l.running() {
		t.Errorf("shown %q", got)
	}
	if got := draw(trajectory.Event{Kind: trajectory.CallStarted, CallID: "1", ToolName: "buy"}); strings.Contains(got, "MCP server") || !strings.Contains(got, "buy") {
		t.Errorf("shown %q", got)
	}
	draw(trajectory.Event{Kind: trajectory.ServerAwaited, Owner: "slow"})
	if got := draw(trajectory.Event{Kind: trajectory.RunEnded}); strings.Contains(got, "MCP server") {
		t.Errorf("shown %q", got)
	}
}
