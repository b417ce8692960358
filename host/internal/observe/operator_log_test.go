package observe

import (
	"testing"
	"time"
)

// TestLogLinesHaveARate: a program that fails in a loop leaves a bounded log, which
// says how much is missing, and silences no other message.
func TestLogLinesHaveARate(t *testing.T) {
	var l operatorLog
	now := time.Unix(1000, 0)
	written := 0
	for range 1000 {
		if _, ok := l.admit("run failed", now); ok {
			written++
		}
	}
	if written != logBurst {
		t.Errorf("%d lines at one moment, want %d", written, logBurst)
	}
	if _, ok := l.admit("approval requested", now); !ok {
		t.Error("another message is silenced")
	}
	if omitted, ok := l.admit("run failed", now.Add(time.Second)); !ok || omitted != 1000-logBurst {
		t.Errorf("after a second: admitted %v, %d omitted, want %d", ok, omitted, 1000-logBurst)
	}
	if omitted, ok := l.admit("run failed", now.Add(time.Second)); !ok || omitted != 0 {
		t.Errorf("the next line: admitted %v, %d omitted", ok, omitted)
	}
}
