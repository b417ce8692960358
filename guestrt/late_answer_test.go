package guestrt

import (
	"testing"
	"time"
)

// TestLateAnswer: an answer that is not there when it is due is acted on, once, whatever
// was expected before it.
func TestLateAnswer(t *testing.T) {
	var l lateAnswer
	defer l.stop()
	for _, c := range []struct {
		name string
		due  time.Duration // from now; 0: never
		late bool
	}{
		{"far", time.Hour, false},
		{"never", 0, false},
		{"over", -time.Second, true},
		{"far again", time.Hour, false},
		{"over again", -time.Second, true},
		{"nearer than the timer", time.Minute, false},
		{"soon", time.Millisecond, true},
	} {
		acted := make(chan struct{})
		var due time.Time
		if c.due != 0 {
			due = time.Now().Add(c.due)
		}
		l.expect(due, func() { close(acted) })
		if c.late {
			<-acted
		}
		if inTime := l.came(); inTime == c.late {
			t.Errorf("%s: in time %v", c.name, inTime)
		}
	}
}

// TestLateAnswerLeavesTheTimer: the timer of an answer that has come finds the next one,
// which is due later.
func TestLateAnswerLeavesTheTimer(t *testing.T) {
	var l lateAnswer
	defer l.stop()
	l.expect(time.Now().Add(time.Millisecond), func() {})
	l.came()
	acted := make(chan struct{})
	l.expect(time.Now().Add(20*time.Millisecond), func() { close(acted) })
	<-acted
	if l.came() {
		t.Error("the answer came in time")
	}
}
